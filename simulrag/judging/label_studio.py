"""Label Studio: tasks for it to import, and its JSON export back as human labels.

https://labelstud.io/guide/task_format describes tasks and annotations.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from simulrag.errors import InputError, first_problem
from simulrag.judging.people import LABELERS_PER_CLAIM, HumanLabel, OfferedClaim
from simulrag.records import LabelValue

LABEL_VALUES: tuple[LabelValue, ...] = get_args(LabelValue)


def tasks(offers: Sequence[OfferedClaim]) -> list[dict[str, Any]]:
    """Write a task a claim, in the form that Label Studio imports."""
    return [
        {
            "data": {
                "question_id": offer.question_id,
                "claim_hash": offer.claim_hash,
                "domain": offer.domain,
                "question": offer.question,
                "reference": offer.reference,
                "evidence": offer.evidence,
                "claim": offer.text,
            },
            "meta": {"annotators_wanted": LABELERS_PER_CLAIM},
        }
        for offer in offers
    ]


def config() -> str:
    """Return the labelling interface (XML) that the tasks belong to."""
    folder = resources.files("simulrag.judging")
    return folder.joinpath("label_studio.xml").read_text(encoding="utf-8")


class _Exported(BaseModel):
    """What Label Studio writes beside these fields is left aside."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Data(_Exported):
    question_id: str
    claim_hash: str
    claim: str


class _Result(_Exported):
    from_name: str
    value: dict[str, Any]


class _User(_Exported):
    id: int


class _Annotation(_Exported):
    id: int | str
    completed_by: int | _User
    was_cancelled: bool = False
    result: list[_Result]


class _Task(_Exported):
    data: _Data
    annotations: list[_Annotation]


def read_export(content: bytes, name: str) -> list[HumanLabel]:
    """Read the labels of a Label Studio export of the type JSON; ``name`` is for messages.

    Skipped tasks count as unlabelled. Annotators are named ``label-studio-`` and their number, not
    by their address. Raises InputError that names task, annotation and field.
    """
    try:
        raw = json.loads(content)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{name} is not valid JSON: {error}") from None
    if not isinstance(raw, list):
        raise InputError(f"{name} is not a Label Studio export: it must be a list of tasks")
    return [label for place, task in enumerate(raw, 1) for label in _labels(task, place, name)]


def _labels(raw: Any, place: int, name: str) -> Iterator[HumanLabel]:
    where = f"{name}: task {place}"
    if isinstance(raw, dict) and "annotations" not in raw:
        raise InputError(
            f"{where} has no annotations: export with the type 'JSON', neither JSON-MIN nor CSV"
        )
    try:
        task = _Task.model_validate(raw)
    except ValidationError as error:
        raise InputError(f"{where}: {first_problem(error, 'task')}") from None
    for annotation in task.annotations:
        if annotation.was_cancelled:
            continue
        try:
            yield _label(task.data, annotation, f"{where}, annotation {annotation.id}")
        except ValidationError as error:
            raise InputError(
                f"{where}, annotation {annotation.id}: {first_problem(error, 'task')}"
            ) from None


def _label(data: _Data, annotation: _Annotation, where: str) -> HumanLabel:
    chosen = _values(annotation, "label", "choices", where)
    if len(chosen) != 1 or chosen[0] not in LABEL_VALUES:
        raise InputError(
            f"{where}: label is {', '.join(chosen) or 'missing'}; "
            f"it must be one of {', '.join(LABEL_VALUES)}"
        )
    by = annotation.completed_by
    return HumanLabel.model_validate(
        {
            "question_id": data.question_id,
            "claim_hash": data.claim_hash,
            "text": data.claim,
            "label": chosen[0],
            "annotator": f"label-studio-{by.id if isinstance(by, _User) else by}",
            "adjudication": "adjudication" in _values(annotation, "role", "choices", where),
            "note": " ".join(_values(annotation, "note", "text", where)),
        }
    )


def _values(annotation: _Annotation, control: str, field: str, where: str) -> list[str]:
    texts: list[str] = []
    for result in annotation.result:
        if result.from_name == control:
            values = result.value.get(field)
            # A text area of one line is exported as a plain string by some versions.
            values = [values] if isinstance(values, str) else values
            if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
                raise InputError(f"{where}: {control}.{field} must be a list of texts")
            texts += values
    return texts
