"""The recorded calls of the default run, as rows, for tests that compare with them."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "data" / "recorded"
SETTINGS: dict[str, dict[str, Any]] = {"urban": {}, "climate": {}, "epidemiology": {"members": 20}}


@lru_cache(maxsize=8)
def requests(stage: str, domain: str, kind: str) -> list[tuple[dict[str, Any], Any]]:
    """Request and response of each recorded call. Skips where the recording is not there."""
    import polars as pl

    path = FOLDER / f"{stage}-{domain}.parquet"
    if not path.is_file():
        pytest.skip(f"{path} is not here: the recorded run is compared with where it is")
    rows = pl.read_parquet(path).filter(pl.col("kind") == kind)
    pairs = zip(rows["request"], rows["response"], strict=True)
    return [(json.loads(request), json.loads(response)) for request, response in pairs]
