"""Answers rated by people with SCORE's form: Label Studio tasks out, its JSON export back in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import Field, ValidationError

from simulrag.errors import InputError
from simulrag.records import Record, claim_hash
from simulrag.rooms.score.records import DetailMark, Given

Scale = int
SCALES = ("relevance", "context_use", "confidence")


class Rating(Record):
    """What one person said of one answer as a whole; scales are 1 to 10.

    ``answer_hash``: of question, method and answer.
    """

    answer_hash: str
    annotator: str
    scenario: DetailMark
    place: DetailMark
    time: DetailMark
    magnitude: DetailMark
    relevance: Scale = Field(ge=1, le=10)
    context_use: Scale = Field(ge=1, le=10)
    confidence: Scale = Field(ge=1, le=10)
    note: str = ""


def answer_hash(given: Given) -> str:
    """What a rating and a score know an answer by."""
    return claim_hash("\n".join((given.question, given.method, given.answer)))


def rating_tasks(given: Sequence[Given]) -> list[dict[str, Any]]:
    """A task an answer; who or what wrote it is not shown."""
    return [
        {
            "data": {
                "answer_hash": answer_hash(one),
                "question": one.question,
                "evidence": "\n\n".join(one.texts),
                "answer": one.answer,
            },
            "meta": {"annotators_wanted": 2},
        }
        for one in given
        if one.failure is None
    ]


def read_ratings(content: bytes, name: str) -> list[Rating]:
    """The ratings of an export of the type JSON; skipped tasks are left out.

    Raises InputError that names the task and the field.
    """
    try:
        tasks = json.loads(content)
        return [
            _rating(task["data"], annotation, f"{name}: task {place}")
            for place, task in enumerate(tasks, 1)
            for annotation in task["annotations"]
            if not annotation.get("was_cancelled")
        ]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{name} is no JSON export of rated answers: {error!r}") from None


def _rating(data: dict[str, Any], annotation: dict[str, Any], where: str) -> Rating:
    said: dict[str, Any] = {}
    for result in annotation["result"]:
        (given,) = list(result["value"].values())[:1]
        value = " ".join(given) if isinstance(given, list) else given
        said[result["from_name"]] = int(value) if result["from_name"] in SCALES else value
    by = annotation["completed_by"]
    who = f"label-studio-{by['id'] if isinstance(by, dict) else by}"
    try:
        return Rating.model_validate({**said, "answer_hash": data["answer_hash"], "annotator": who})
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{where}, {who}: {first['loc']}: {first['msg']}") from None
