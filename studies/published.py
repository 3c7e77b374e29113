"""The published evidence as a table, for comparisons: ``parsed.csv`` of a folder."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from simulators.base import ArgumentError

Row = TypeVar("Row")


def read_parsed(
    folder: Path, columns: Sequence[str], read: Callable[[dict[str, str]], Row]
) -> list[Row]:
    """``read`` of every row of ``folder/parsed.csv``, in the file's order.

    Raises ArgumentError, which names the file and the line, for a file that cannot be read, lacks
    one of ``columns`` or has no rows, and for a row that ``read`` refuses.
    """
    path = folder / "parsed.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows, present = list(reader), reader.fieldnames or []
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path} cannot be read: {error}") from None
    missing = [column for column in columns if column not in present]
    if missing:
        raise ArgumentError(f"{path} lacks the columns {', '.join(missing)}")
    if not rows:
        raise ArgumentError(f"{path} has no rows")
    found: list[Row] = []
    for line, row in enumerate(rows, start=2):
        try:
            found.append(read(row))
        except (ValueError, ArgumentError) as error:
            raise ArgumentError(f"{path} line {line}: {error}") from None
    return found
