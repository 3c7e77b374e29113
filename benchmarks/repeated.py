"""The recorded run's questions under new ids, as many as a benchmark wants."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Any

from benchmarks.stub_runs import ROOT
from flows.files import read_records, read_table, write_records, write_table, write_text
from flows.project import Project, Results
from simulrag.records import Answer, FinalClaims, Label, Question

DOMAIN = "repeated"
RECORDED = ("urban", "climate", "epidemiology")


def write_repeated(place: Results, questions: int) -> None:
    """So many questions with their answers, labels and final claims, each turn in new scenarios.

    Needs the outs of ``dvc repro``.
    """
    made = Project(ROOT).results
    asked = [q for name in RECORDED for q in read_records(made.benchmark(name), Question)]
    turns = list(islice(((turn, q.question_id) for turn in count() for q in asked), questions))

    def repeated(records: Iterable[Any]) -> Iterator[Any]:
        of_question: dict[str, list[Any]] = {}
        for record in records:
            of_question.setdefault(record.question_id, []).append(record)
        for turn, name in turns:
            for record in of_question[name]:
                named = {"question_id": f"{name}-{turn}"}
                if isinstance(record, Question):
                    named["scenario_id"] = f"{record.scenario_id}-{turn}"
                yield record.model_copy(update=named)

    answers = (a for name in RECORDED for a in read_records(made.answers(name), Answer))
    finals = (f for name in RECORDED for f in read_records(made.final_claims(name), FinalClaims))
    labels = (one for name in RECORDED for one in read_table(made.labels(name), Label))
    templates = [one for name in RECORDED for one in json.loads(made.templates(name).read_bytes())]
    write_records(place.benchmark(DOMAIN), repeated(asked))
    write_records(place.answers(DOMAIN), repeated(answers))
    write_records(place.final_claims(DOMAIN), repeated(finals))
    write_table(place.labels(DOMAIN), list(repeated(labels)), Label)
    write_text(place.templates(DOMAIN), json.dumps(templates))
