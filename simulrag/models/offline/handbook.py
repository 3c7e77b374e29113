"""A handbook's tables, read back from their Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class ArgumentRow:
    """One row of an arguments table. ``low`` and ``high`` are None where the range is open."""

    name: str
    type: str
    unit: str
    low: float | None
    high: float | None
    required: bool
    default: str
    meaning: str

    @property
    def choices(self) -> list[str]:
        """The words of a 'one of ...' type, else an empty list."""
        return _choices(self.type)


@dataclass(frozen=True)
class OutputRow:
    """One row of an outputs table."""

    name: str
    type: str
    unit: str
    meaning: str

    @property
    def choices(self) -> list[str]:
        """The words of a 'one of ...' type, else an empty list."""
        return _choices(self.type)


@dataclass(frozen=True)
class HandbookTool:
    """One ``###`` section of a handbook."""

    name: str
    description: str
    arguments: tuple[ArgumentRow, ...]
    outputs: tuple[OutputRow, ...]


@lru_cache(maxsize=32)
def read_handbook(text: str) -> tuple[HandbookTool, ...]:
    """The tools of a handbook in order; prose without tables is skipped."""
    parts = re.split(r"^### +", text, flags=re.M)[1:]
    tools = []
    for part in parts:
        name, _, body = part.partition("\n")
        before, _, after = body.partition("Outputs:")
        description = before.partition("Arguments:")[0]
        arguments = tuple(_argument(cells) for cells in rows(before))
        outputs = tuple(
            OutputRow(
                row["name"], row.get("type", ""), row.get("unit", "-"), row.get("meaning", "")
            )
            for row in rows(after)
        )
        tools.append(
            HandbookTool(name.strip().strip("`"), " ".join(description.split()), arguments, outputs)
        )
    return tuple(tools)


def rows(text: str) -> Iterator[dict[str, str]]:
    """The rows of every table of a text, by the names of the columns."""
    header: list[str] = []
    for line in text.splitlines():
        if not line.strip().startswith("|"):
            header = []
            continue
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        if not header:
            header = [cell.lower() for cell in cells]
        elif not all(set(cell) <= set("-: ") for cell in cells):
            yield dict(zip(header, cells, strict=False))


def _choices(kind: str) -> list[str]:
    match = re.fullmatch(r"one of (.*?)(?: or (?:number|integer|null))*", kind)
    return [word.strip() for word in match[1].split(",")] if match else []


def _argument(row: dict[str, str]) -> ArgumentRow:
    match = re.fullmatch(r"(\S*) ?to ?(\S*)", row.get("range", "-"))
    default = row.get("default", "required")
    return ArgumentRow(
        name=row["name"],
        type=row.get("type", "string").removesuffix(" or null"),
        unit=row.get("unit", "-"),
        low=float(match[1]) if match and match[1] else None,
        high=float(match[2]) if match and match[2] else None,
        required=default == "required",
        default=default,
        meaning=row.get("meaning", ""),
    )
