"""What the commands of studies share: a report as JSON, parameters of a training, a device."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from simulators.base import ArgumentError, SimulatorError

if TYPE_CHECKING:
    import torch

Parameters = TypeVar("Parameters", bound=BaseModel)
PARAMS = Path(__file__).parent / "params.yaml"


def report(make: Callable[[], object]) -> int:
    """Print what ``make`` returns as JSON. The exit code: 2 for wrong input, 1 for a failed run."""
    try:
        text = json.dumps(make(), indent=2)
    except SimulatorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, ArgumentError) else 1
    print(text)
    return 0


def published_parser(module: str, versions: Sequence[str] = ("recorded",)) -> ArgumentParser:
    """The arguments of a command over published records: their folder, and which of the
    simulator's ``versions``, the newest last, is measured."""
    parser = ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("dir", type=Path, help="a folder with parsed.csv")
    parser.add_argument("--version", choices=versions, default=versions[-1], help="default: newest")
    return parser


def training_parser(module: str, weights: Path) -> ArgumentParser:
    """The arguments of a training: its parameters, and where weights and held-out errors go."""
    parser = ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("--params", type=Path, default=PARAMS)
    parser.add_argument("--weights", type=Path, default=weights)
    parser.add_argument("--metrics", type=Path, default=weights.with_suffix(".json"))
    return parser


def read_section(path: Path, section: str, model: type[Parameters]) -> Parameters:
    """A section of studies/params.yaml. Raises ArgumentError."""
    import yaml

    try:
        return model.model_validate(yaml.safe_load(path.read_text(encoding="utf-8"))[section])
    except (OSError, KeyError, TypeError, yaml.YAMLError, ValidationError) as error:
        raise ArgumentError(f"{path}: {section} cannot be read: {error}") from None


def pick_device(wanted: Literal["auto", "cpu", "cuda"]) -> torch.device:
    """The device asked for; auto takes CUDA where it is. Raises ArgumentError where it is not."""
    import torch

    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise ArgumentError("device is cuda, but there is no CUDA device here: use auto or cpu")
    return torch.device("cuda" if there and wanted != "cpu" else "cpu")
