"""docs/reference.md is what the code says."""

from __future__ import annotations

from pathlib import Path

from flows.cli.reference import reference

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert page == reference(), "run simulrag docs reference"


def test_every_command_says_what_it_does() -> None:
    rows = [line.split("|") for line in reference().splitlines() if line.startswith("| `")]
    assert [row[1] for row in rows if not row[2].strip()] == []
