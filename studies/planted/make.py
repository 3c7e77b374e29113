"""Plant the errors: ``python -m studies.planted.make``, after ``simulrag run``.

Reads the default run's benchmark and answers; writes texts.jsonl and plants.jsonl beside it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

from flows.files import read_records, write_records
from flows.params import open_project
from flows.project import Results
from simulrag.questions.published import read_questions
from simulrag.questions.records import read_templates
from simulrag.records import Answer, Record
from studies.audits import AuditedText
from studies.planted.plants import SETS, Plant, draw, write
from studies.planted.sites import read_text

FOLDER = Path(__file__).parent
DOMAINS = ("urban", "climate", "epidemiology")
SEED = 38


class PlantedText(Record):
    """A question's text with the errors planted in it."""

    question_id: str
    set: str
    text: str
    plants: tuple[Plant, ...]


def make(results: Results) -> tuple[list[AuditedText], list[PlantedText]]:
    """Read texts as they were audited, and plant errors in them; a text may admit none."""
    texts, planted, counts = [], [], Counter[str]()
    for domain in DOMAINS:
        templates = read_templates(results.templates(domain))
        answers = read_records(results.answers(domain), Answer)
        for question, answer in zip(
            read_questions(results.benchmark(domain)), answers, strict=True
        ):
            if answer.audit is None or answer.retrieval is None:
                continue
            name, text = question.question_id, answer.audit.text
            evidence = answer.evidence[: answer.retrieval.looks[-1]]
            shown = {"text": text, "evidence": [run.text for run in evidence]}
            about = {"name": name, "domain": domain, "question": question.text}
            texts.append(AuditedText.model_validate({**about, **shown}))
            reading = read_text(text, question, templates[question.template_id or ""], evidence)
            for kind, kinds in SETS.items():
                rng = Random(f"{SEED} {kind} {name}")  # noqa: S311 no secret
                if changes := draw(reading, kinds, counts, rng):
                    spoilt, plants = write(text, changes)
                    item = PlantedText(question_id=name, set=kind, text=spoilt, plants=plants)
                    planted.append(item)
    return texts, planted


if __name__ == "__main__":
    texts, planted = make(open_project()[0].results)
    write_records(FOLDER / "texts.jsonl", texts)
    write_records(FOLDER / "plants.jsonl", planted)
