"""The published benchmark's files as records, and benchmark files of our own (JSONL)."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from simulrag.errors import InputError, all_problems, problems_of_file
from simulrag.records import Answer, Evidence, Question, ToolCall

QUESTIONS = "questions.json"
EVIDENCE = "simulator_evidence.json"


def read_published(folder: str | Path, domain: str | None = None) -> list[Question]:
    """The questions of a folder in the published format, in file order, none dropped.

    ``domain`` is the folder's name unless given. The evidence lies beside the questions or, as the
    authors have it, in the folder ``cache`` beside the domains' folders. A question and its
    evidence belong together by position where both files have the same text there, else by text.
    Questions that share evidence share a scenario. Raises InputError with file, entry, field and
    what to do.
    """
    folder = Path(folder)
    whole = Path(os.path.realpath(folder))  # Path.resolve raises where links go round
    domain = domain or whole.name
    questions = _entries(folder / QUESTIONS, ("question", "reference_answer"))
    apart = whole.parent / "cache" / whole.name / EVIDENCE
    beside = apart if apart.is_file() else folder / EVIDENCE
    evidence = _entries(beside, ("question", "derived_quantitative_answer"))
    by_text: dict[str, str] = {}
    for entry in evidence:
        by_text.setdefault(entry["question"], entry["derived_quantitative_answer"])
    seen: Counter[str] = Counter()
    records = []
    for index, entry in enumerate(questions):
        text = entry["question"]
        if index < len(evidence) and evidence[index]["question"] == text:
            derived = evidence[index]["derived_quantitative_answer"]
        elif text in by_text:
            derived = by_text[text]
        else:
            raise InputError(
                f"{folder / QUESTIONS}, entry {index}: {EVIDENCE} has no entry with this "
                "'question'; take both files from the same release"
            )
        digest = _digest(text, entry["reference_answer"], derived)
        seen[digest] += 1
        repeat = f"-{seen[digest]}" if seen[digest] > 1 else ""
        records.append(
            Question(
                question_id=f"{domain}-{digest}{repeat}",
                domain=domain,
                text=text,
                reference_answer=entry["reference_answer"],
                scenario_id=f"{domain}-{_digest(derived)}",
                evidence=(_evidence(text, derived),),
                source="published",
            )
        )
    return records


def read_questions(path: str | Path) -> list[Question]:
    """The questions of a benchmark file. Raises InputError with the lines and all their fields."""
    path = Path(path)
    questions: list[Question] = []
    ids: dict[str, int] = {}
    problems: list[str] = []
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            question = Question.model_validate_json(line)
        except ValidationError as error:
            problems.append(f"line {number}: {all_problems(error)}")
            continue
        if question.question_id in ids:
            problems.append(
                f"line {number}: question_id '{question.question_id}' is already on line "
                f"{ids[question.question_id]}; give every question an id of its own"
            )
            continue
        ids[question.question_id] = number
        questions.append(question)
    if problems:
        raise problems_of_file(path, problems)
    if not questions:
        raise InputError(f"{path} holds no question; import or generate a benchmark first")
    return questions


def check_domain(source: Path, questions: Iterable[Question], domain: str) -> None:
    """Raise InputError where a file holds questions of another domain than the one named."""
    held = {question.domain for question in questions}
    others = sorted(held - {domain})
    if len(held) > 1:
        raise InputError(
            f"{source} holds questions of {', '.join(sorted(held))}; write a file a domain"
        )
    if others:
        raise InputError(
            f"{source} holds questions of domain {', '.join(others)}, not {domain}; "
            f"give --domain {others[0]}"
        )


def sampled(questions: Sequence[Question], limit: int | None, seed: int) -> list[Question]:
    """At most ``limit`` of the questions (None: all), in their order; the same ones for a seed.

    A larger limit holds the questions of a smaller one, so that raising it pays for the new alone.
    """
    drawn = sorted(questions, key=lambda question: _digest(str(seed), question.question_id))
    chosen = {question.question_id for question in drawn[:limit]}
    return [question for question in questions if question.question_id in chosen]


class AnsweredQuestion(NamedTuple):
    """A question and its answer."""

    question: Question
    answer: Answer


def answered_questions(
    answers: Iterable[Answer], source: Path, questions: Iterable[Question]
) -> Iterator[AnsweredQuestion]:
    """The answers of the file ``source`` with their questions.

    Raises InputError for an answer to a question that nobody asked.
    """
    asked = {question.question_id: question for question in questions}
    for answer in answers:
        if answer.question_id not in asked:
            raise InputError(
                f"{source} answers question {answer.question_id}, which is not in the benchmark; "
                "answers and benchmark must belong together"
            )
        yield AnsweredQuestion(asked[answer.question_id], answer)


def _evidence(question: str, derived: str) -> Evidence:
    return Evidence(
        simulator="replay",
        call=ToolCall(tool="published_evidence", arguments={"question": question}),
        seed=0,
        outputs={"text": derived},
        text=derived,
    )


def _entries(path: Path, fields: tuple[str, ...]) -> list[dict[str, str]]:
    try:
        entries: Any = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); take the file from the release") from None
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{path}: a list of entries with {_names(fields)} is expected")
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise InputError(f"{path}, entry {index}: an object with {_names(fields)} is expected")
        for field in fields:
            value = entry.get(field)
            if field not in entry:
                raise InputError(f"{path}, entry {index}: '{field}' is missing; add it as text")
            if not isinstance(value, str) or not value.strip():
                raise InputError(f"{path}, entry {index}: '{field}' must be text that is not empty")
            if any("\ud800" <= sign <= "\udfff" for sign in value):
                raise InputError(f"{path}, entry {index}: '{field}' holds half of a surrogate pair")
    return entries


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors begin with a mark
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the path") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start}); convert it") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from None


def _names(fields: tuple[str, ...]) -> str:
    return " and ".join(f"'{field}'" for field in fields)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
