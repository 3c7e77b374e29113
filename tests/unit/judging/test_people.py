"""Human labels: what settles a claim, which are refused, which claims are offered."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from xml.etree import ElementTree

import pytest

from simulrag.errors import InputError
from simulrag.judging.label_studio import config, read_export, tasks
from simulrag.judging.people import HumanLabel, OfferedClaim, majority_label, offers
from simulrag.records import claim_hash
from tests.making import answer, claim, label, question
from tests.unit.metrics.people import annotation, given, offer
from tests.unit.metrics.synthetic import Study, study


@pytest.mark.parametrize(
    ("labels", "expected", "disputed"),
    [
        ([given("ann", "true")], "true", False),
        ([given("ann", "true"), given("bob", "true")], "true", False),
        ([given("ann", "true"), given("bob", "false")], "undecided", True),
        (
            [
                given("ann", "true"),
                given("bob", "false"),
                given("cy", "false", adjudication=True),
            ],
            "false",
            True,
        ),
    ],
)
def test_what_people_say_together(labels: list[HumanLabel], expected: str, disputed: bool) -> None:
    how = {1: "one annotator", 2: "disputed" if disputed else "agreed", 3: "adjudicated"}
    for order in (labels, labels[::-1]):
        (settled,) = majority_label(order).values()
        assert (settled.label, settled.disputed) == (expected, disputed)
        assert settled.how == how[len(labels)]
        row = settled.as_label()
        assert (row.source, row.label) == ("human", expected)
        assert row.reason.startswith("ann: true")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([given("ann", "true"), given("ann", "false")], "labelled twice by 'ann'"),
        ([given("ann", "true"), given("ann", "true", "time  RISES.")], "labelled twice by 'ann'"),
        (
            [given("ann", "true"), given("bob", "true", adjudication=True)],
            "is adjudicated and has 1 other labels",
        ),
        (
            [
                given("ann", "true"),
                given("bob", "false"),
                given("cy", "true", adjudication=True),
                given("di", "true", adjudication=True),
            ],
            "adjudicated twice",
        ),
        ([given("ann", "true").model_copy(update={"text": "Time falls."})], "another text"),
    ],
)
def test_labels_that_contradict_each_other(labels: list[HumanLabel], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        majority_label(labels)
    assert "of question 'q'" in str(caught.value)


def offered(data: Study, sample: int | None = None, seed: int = 3) -> list[OfferedClaim]:
    return offers(data.questions, data.answers, data.labels, sample=sample, seed=seed)


def test_each_judged_text_is_offered_once_the_undecided_first() -> None:
    data = study(30)
    found = offered(data)
    keys = [(one.question_id, one.claim_hash) for one in found]
    judged = {(one.question_id, one.claim_hash): one.label for one in data.labels}
    assert len(set(keys)) == len(keys)
    assert set(keys) == set(judged)
    undecided = [judged[key] == "undecided" for key in keys]
    assert sum(undecided) > 3
    assert undecided == sorted(undecided, reverse=True)
    assert offered(data) == found
    assert offered(data, seed=4) != found
    assert offered(data, sample=25) == found[:25]


def test_a_sample_holds_each_verdict_in_proportion() -> None:
    data = study(60)
    status = {
        (one.question_id, claim_hash(item.text)): item.verdict.status
        for one in data.answers
        for item in one.claims
        if item.verdict is not None
    }
    judged = {(one.question_id, one.claim_hash): one.label for one in data.labels}
    keys = [(one.question_id, one.claim_hash) for one in offered(data)]
    decided = [status.get(key, "after") for key in keys if judged[key] != "undecided"]
    whole = Counter(decided)
    part = Counter(decided[: len(decided) // 5])
    assert len(whole) == 4
    for name, count in whole.items():
        assert abs(part[name] - count / 5) <= 1.5


def test_failed_labels_are_offered_and_the_judge_is_not_shown() -> None:
    record = answer("q", [claim("A."), claim("B.", status="contradicted", updated="C.")])
    labels = [label("q", "A.", None), label("q", "B.", "false"), label("q", "D.", "true")]
    found = offers([question("q", "s")], [record], labels)
    assert [one.text for one in found] == ["A.", "B."]
    assert set(OfferedClaim.model_fields) & {"label", "verdict", "reason"} == set()
    with pytest.raises(InputError, match="not in the benchmark"):
        offers([], [record], labels)
    with pytest.raises(InputError, match="0 is not a sample"):
        offers([question("q", "s")], [record], labels, sample=0)


def test_tasks_and_their_interface_belong_together() -> None:
    (task,) = tasks([offer()])
    root = ElementTree.fromstring(config())
    shown = {
        str(node.get("value"))[1:] for node in root.iter() if str(node.get("value")).startswith("$")
    }
    assert shown == {"question", "reference", "evidence", "claim"}
    assert shown <= set(task["data"])
    names = {node.get("name") for node in root.iter()}
    assert {"label", "role", "note"} <= names
    choices = [node.get("value") for node in root.iter("Choice")]
    assert choices == ["true", "false", "undecided", "adjudication"]


def exported(*annotations: dict[str, Any]) -> bytes:
    (task,) = tasks([offer()])
    return json.dumps([{"id": 7, **task, "annotations": list(annotations)}]).encode()


def test_an_export_comes_back() -> None:
    content = exported(
        annotation(3, "true", note=["because"]),
        annotation({"id": 4, "email": "bob@example.org"}, "false"),
        annotation(5, "true", was_cancelled=True),
        annotation(6, "true", adjudication=True),
    )
    labels = read_export(content, "file.json")
    assert labels == [
        given("label-studio-3", "true", note="because"),
        given("label-studio-4", "false"),
        given("label-studio-6", "true", adjudication=True),
    ]
    (settled,) = majority_label(labels).values()
    assert settled.label == "true"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "file.json is not valid JSON"),
        (b"\xff\xfe", "file.json is not valid JSON"),
        (b"{}", "must be a list of tasks"),
        (b'[{"claim": "a", "label": "true"}]', "task 1 has no annotations.*JSON-MIN"),
        (b"[3]", "task 1: task: "),
        (b'[{"data": {}, "annotations": []}]', r"task 1: data\.question_id: "),
        (exported(annotation(3, "maybe")), "task 1, annotation 1: label is maybe"),
        (exported(annotation(3, "true", result=[])), "annotation 1: label is missing"),
        (exported(annotation("ann", "true")), r"task 1: annotations\.0\.completed_by"),
        (exported(annotation(3, "true", note=[1])), r"note\.text must be a list of texts"),
    ],
)
def test_a_malformed_export_says_where(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_export(content, "file.json")
