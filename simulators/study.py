"""Studies belong to the repository: a simulator's module runs one where the repository is."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn


def run_study(name: str) -> NoReturn:
    """Run ``main`` of ``studies.<name>`` and exit as it does; with 1 where there are no studies."""
    repository = Path(__file__).parents[1]
    if not repository.joinpath("studies", *name.split(".")).with_suffix(".py").is_file():
        sys.exit(f"error: studies.{name} is in the repository alone: run this in a clone of it")
    sys.path.insert(0, str(repository))
    sys.exit(import_module(f"studies.{name}").main())
