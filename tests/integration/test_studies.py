"""The studies of the audit: what they ask is made from the recorded run, by seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.files import read_records
from studies.audits import AuditedText
from studies.planted.__main__ import counts
from studies.planted.__main__ import page as planted_page
from studies.planted.__main__ import read_audits as planted_audits
from studies.planted.make import FOLDER, PlantedText, make
from studies.scitab.__main__ import judge
from studies.scitab.__main__ import page as scitab_page
from tests.recorded import ROOT, Replayed, given_project


def test_errors_are_planted_by_seed_into_the_recorded_answers(replayed: Replayed) -> None:
    texts, planted = make(replayed.results)
    assert texts == read_records(FOLDER / "texts.jsonl", AuditedText)
    assert planted == read_records(FOLDER / "plants.jsonl", PlantedText)


@pytest.mark.parametrize("study", ["planted", "scitab"])
def test_the_tables_are_what_the_recorded_replies_give(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(given_project(tmp_path / "project").root)
    if study == "planted":
        texts = planted_audits()
        table = planted_page(texts, list(counts(texts)))
    else:
        table = scitab_page(judge())
    assert table == (ROOT / "studies" / study / "table.md").read_text(encoding="utf-8")
