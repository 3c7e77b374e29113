"""The studies of the audit: what they ask is made from the recorded run, by seed."""

from __future__ import annotations

from flows.files import read_records
from studies.audits import AuditedText
from studies.planted.make import FOLDER, PlantedText, make
from tests.recorded import Replayed


def test_errors_are_planted_by_seed_into_the_recorded_answers(replayed: Replayed) -> None:
    texts, planted = make(replayed.results)
    assert texts == read_records(FOLDER / "texts.jsonl", AuditedText)
    assert planted == read_records(FOLDER / "plants.jsonl", PlantedText)
