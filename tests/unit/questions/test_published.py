"""The published format and our own benchmark files: read whole, or refused with the place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.files import write_records
from simulrag.errors import EnvironmentFault, InputError
from simulrag.questions.published import read_published, read_questions, sampled
from simulrag.records import Question

OFFICIAL = Path("../shared/official")

QUESTIONS = [
    {"question": "How warm?", "reference_answer": "It is 3 degrees."},
    {"question": "How cold?", "reference_answer": "It is 1 degree."},
    {"question": "How warm?", "reference_answer": "It is 3 degrees."},
]
EVIDENCE = [
    {
        "question": item["question"],
        "derived_quantitative_question": "-",
        "derived_quantitative_answer": "3 and 1 degrees",
    }
    for item in QUESTIONS
]


def folder(path: Path, questions: Any = QUESTIONS, evidence: Any = EVIDENCE) -> Path:
    place = path / "climate"
    place.mkdir()
    (place / "questions.json").write_text(json.dumps(questions))
    (place / "simulator_evidence.json").write_text(json.dumps(evidence))
    return place


def test_published_entries_become_records(tmp_path: Path) -> None:
    first, second, third = read_published(folder(tmp_path))
    assert first.domain == "climate"
    assert first.source == "published"
    assert first.text == "How warm?"
    assert first.reference_answer == "It is 3 degrees."
    (evidence,) = first.evidence
    assert evidence.simulator == "replay"
    assert evidence.call.tool == "published_evidence"
    assert evidence.call.arguments == {"question": "How warm?"}
    assert evidence.outputs == {"text": "3 and 1 degrees"}
    assert evidence.text == "3 and 1 degrees"
    assert first.scenario_id == second.scenario_id
    assert third.question_id == f"{first.question_id}-2"
    assert second.question_id != first.question_id


def test_evidence_in_another_order_is_matched_by_text(tmp_path: Path) -> None:
    evidence = [
        {"question": "How cold?", "derived_quantitative_answer": "one"},
        {"question": "How warm?", "derived_quantitative_answer": "three"},
    ]
    place = folder(tmp_path, QUESTIONS[:2], evidence)
    assert [item.evidence[0].text for item in read_published(place)] == ["three", "one"]


def test_evidence_in_the_authors_folder_is_found(tmp_path: Path) -> None:
    place = folder(tmp_path)
    beside = read_published(place)
    (tmp_path / "cache" / "climate").mkdir(parents=True)
    (place / "simulator_evidence.json").rename(tmp_path / "cache/climate/simulator_evidence.json")
    assert read_published(place) == beside


def test_the_domain_may_be_given(tmp_path: Path) -> None:
    records = read_published(folder(tmp_path), domain="weather")
    assert {item.domain for item in records} == {"weather"}
    assert all(item.question_id.startswith("weather-") for item in records)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("questions.json", None, "questions.json does not exist"),
        ("simulator_evidence.json", None, "simulator_evidence.json does not exist"),
        ("questions.json", "[{", "questions.json is not JSON"),
        ("questions.json", "{}", "a list of entries with 'question' and 'reference_answer'"),
        ("questions.json", "[]", "a list of entries"),
        ("questions.json", '["text"]', "questions.json, entry 0: an object"),
        (
            "questions.json",
            '[{"question": "a", "reference_answer": "b"}, {"question": "c"}]',
            "questions.json, entry 1: 'reference_answer' is missing",
        ),
        (
            "questions.json",
            '[{"question": "", "reference_answer": "b"}]',
            "entry 0: 'question' must be text",
        ),
        (
            "questions.json",
            '[{"question": "a", "reference_answer": 3}]',
            "entry 0: 'reference_answer' must be text",
        ),
        (
            "simulator_evidence.json",
            '[{"question": "How warm?"}]',
            "simulator_evidence.json, entry 0: 'derived_quantitative_answer' is missing",
        ),
        (
            "simulator_evidence.json",
            '[{"question": "How warm?", "derived_quantitative_answer": "3"}]',
            "questions.json, entry 1: simulator_evidence.json has no entry",
        ),
    ],
)
def test_a_broken_folder_is_refused_with_the_place(
    tmp_path: Path, name: str, content: str | None, reason: str
) -> None:
    place = folder(tmp_path)
    (place / name).unlink()
    if content is not None:
        (place / name).write_text(content)
    with pytest.raises(InputError) as caught:
        read_published(place)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_written_questions_are_read_back_and_bytes_are_stable(tmp_path: Path) -> None:
    questions = read_published(folder(tmp_path))
    path = tmp_path / "new" / "climate.jsonl"
    write_records(path, questions)
    first = path.read_bytes()
    assert read_questions(path) == questions
    write_records(path, read_questions(path))
    assert path.read_bytes() == first
    assert [item.name for item in path.parent.iterdir()] == ["climate.jsonl"]


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "climate.jsonl"
    write_records(path, read_published(folder(tmp_path)))
    before = path.read_bytes()

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(EnvironmentFault, match=r"climate.jsonl cannot be written: No space left"):
        write_records(path, [])
    assert path.read_bytes() == before
    assert sorted(item.name for item in tmp_path.iterdir()) == ["climate", "climate.jsonl"]


def _drop_two(record: dict[str, Any]) -> str:
    del record["domain"], record["scenario_id"]
    return json.dumps(record)


def _number_for_text(record: dict[str, Any]) -> str:
    return json.dumps({**record, "text": 3})


def _more(record: dict[str, Any]) -> str:
    return json.dumps({**record, "colour": "red"})


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_drop_two, ": line 2: 'domain', 'scenario_id' are missing"),
        (_number_for_text, ": line 2: 'text': Input should be a valid string"),
        (_more, ": line 2: 'colour': Extra inputs are not permitted"),
        (lambda _: "{", ": line 2: Invalid JSON"),
        (lambda record: json.dumps({**record, "question_id": "climate-1"}), "already on line 1"),
    ],
)
def test_a_line_that_is_no_question_is_refused_with_the_place(
    tmp_path: Path, spoil: Callable[[dict[str, Any]], str], reason: str
) -> None:
    first, second, _ = read_published(folder(tmp_path))
    path = tmp_path / "climate.jsonl"
    write_records(path, [first.model_copy(update={"question_id": "climate-1"}), second])
    good = path.read_text().splitlines()[0]
    path.write_text(good + "\n" + spoil(second.model_dump(mode="json")) + "\n")
    with pytest.raises(InputError) as caught:
        read_questions(path)
    assert f"{path}{reason}" in str(caught.value) or reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_three_lines_are_said_and_all_of_them_written_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"text": "How long?"}\n' * 7)
    with pytest.raises(InputError) as caught:
        read_questions(path)
    said = str(caught.value)
    assert said.count("'question_id', 'domain', 'reference_answer', 'scenario_id' are missing") == 3
    beside = tmp_path / "mine.jsonl.problems.txt"
    assert said.endswith(f"all 7 problems are in {beside}")
    assert beside.read_text().splitlines()[6].startswith("line 7: 'question_id'")


def test_files_that_are_not_there_empty_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_questions(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="cannot read"):
        read_questions(tmp_path)
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(InputError, match="holds no question"):
        read_questions(tmp_path / "empty.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_questions(tmp_path / "latin.jsonl")


@pytest.mark.parametrize(
    ("domain", "records", "scenarios"),
    [("urban", 146, 45), ("climate", 686, 682), ("epidemiology", 724, 367)],
)
def test_the_published_files_are_read_whole(domain: str, records: int, scenarios: int) -> None:
    if not (OFFICIAL / domain).is_dir():
        pytest.skip(f"{OFFICIAL / domain} is not here")
    questions = read_published(OFFICIAL / domain)
    assert len(questions) == records
    assert len({item.question_id for item in questions}) == records
    assert len({item.scenario_id for item in questions}) == scenarios


def test_a_sample_is_the_same_for_a_seed_and_part_of_a_larger_one() -> None:
    questions = [
        Question(
            question_id=f"q{i}", domain="urban", text="?", reference_answer="", scenario_id="s"
        )
        for i in range(20)
    ]

    def drawn(limit: int | None, seed: int = 0) -> list[str]:
        return [one.question_id for one in sampled(questions, limit, seed)]

    few, more = drawn(3), drawn(10)
    assert (len(few), len(more)) == (3, 10)
    assert set(few) < set(more)
    assert more == sorted(more, key=lambda name: int(name[1:]))  # in the file's order
    assert drawn(10, seed=1) != more
    assert drawn(None) == drawn(99) == [one.question_id for one in questions]
