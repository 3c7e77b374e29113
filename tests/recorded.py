"""The recorded run, replayed in this process once a session: real texts, no server, no call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.params import Params, load_params
from flows.plan.rehearse import Rehearsed, StoredCalls, rehearse
from flows.project import Project

ROOT = Path(__file__).resolve().parents[1]
STAGES = ("benchmark", "answer", "label")


@dataclass(frozen=True)
class Replayed:
    """What the stages' own code made of ``data/recorded``, by domain, from an empty cache."""

    params: Params
    domains: dict[str, Rehearsed]
    used: frozenset[str]
    place: Path


@pytest.fixture(scope="session")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """All recorded domains, replayed."""
    project = Project(ROOT)
    params = load_params(project.params)
    place = tmp_path_factory.mktemp("recorded") / "calls"
    with StoredCalls(place, stage="recorded", mode="replay") as cache:
        for file in recorded_files():
            assert cache.import_calls(file).refused == ()
        domains = {
            domain: asyncio.run(rehearse(project, params, cache, domain))
            for domain in params.domains
        }
        return Replayed(params, domains, cache.used, place)


def recorded_files() -> list[Path]:
    """The exports in git."""
    return sorted((ROOT / "data/recorded").glob("*.parquet"))


def recorded_calls() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Key, kind and request of every recorded call."""
    for file in recorded_files():
        for row in pl.read_parquet(file).iter_rows(named=True):
            yield row["key"], row["kind"], json.loads(row["request"])
