"""Figures for a paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.report.drawing import FIGURES, draw
from flows.report.run import DomainTable
from simulrag.errors import InputError
from tests.unit.report.made import looked_up, rows, run_of

pytest.importorskip("matplotlib", reason="matplotlib draws them")


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize(("suffix", "begins"), [(".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_the_same_numbers_give_the_same_bytes(
    tmp_path: Path, name: str, suffix: str, begins: bytes
) -> None:
    run = run_of(*(DomainTable.of(domain, rows(domain)) for domain in ("urban", "climate")))
    files = [tmp_path / f"{at}{suffix}" for at in range(2)]
    for file in files:
        draw(name, run, file)
    assert files[0].read_bytes().startswith(begins)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_panel_says_its_domain_how_many_questions_and_its_lines(tmp_path: Path) -> None:
    draw("claims", run_of(), tmp_path / "claims.svg")
    text = (tmp_path / "claims.svg").read_text(encoding="utf-8")
    for words in ("urban (n = 7)", "UE+SBA", "Random", "AUROC of claims"):
        assert words in text


@pytest.mark.parametrize(
    ("name", "file", "why"),
    [
        ("cals", "a.pdf", "there is no figure 'cals'; give calls or claims"),
        ("calls", "a.doc", "a.doc: write a .pdf, .svg or .png"),
        ("calls", "nowhere/a.pdf", "a.pdf cannot be written: No such file"),
    ],
)
def test_what_cannot_be_drawn_is_said(tmp_path: Path, name: str, file: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        draw(name, run_of(), tmp_path / file)


def test_a_domain_without_such_numbers(tmp_path: Path) -> None:
    found = [row for row in looked_up("urban") if row.family not in ("claims", "answers")]
    with pytest.raises(InputError, match="no domain of this run has numbers for 'claims'"):
        draw("claims", run_of(DomainTable.of("urban", found)), tmp_path / "a.png")
