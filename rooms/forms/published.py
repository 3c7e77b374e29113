"""Questions by form from files: ClimaQA's published tables, any CSV or JSONL, and files of ours.

ClimaQA's columns: Question, Options ("a) ..." and so on, parted by lines of hyphens), Answer (a
letter where there are options), Complexity (BASE, REASONING, HYPOTHETICAL), Validation (True where
experts approved) and, in some, Context.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rooms.forms.generation import Maker
from rooms.forms.records import (
    LETTERS,
    MASK,
    ChoiceQuestion,
    ClozeQuestion,
    Formed,
    Level,
    SourceText,
    asked_forms,
)
from simulrag.errors import InputError, first_problem

CLIMAQA = {
    "question": "Question",
    "options": "Options",
    "answer": "Answer",
    "level": "Complexity",
    "valid": "Validation",
    "context": "Context",
}
"""Our names of what a row holds, and ClimaQA's columns."""
NEEDED = ("question", "answer")

_OPTION = re.compile(r"^\s*\(?([a-zA-Z])[).:]\s+", re.M)
_RULE = re.compile(r"^-{5,}\s*$", re.M)
_LEVELS: Mapping[str, Level] = {
    "": "base",
    "base": "base",
    "reasoning": "reasoning",
    "hypothetical": "hypothetical",
}


def read_table(
    path: Path, source: str, columns: Mapping[str, str] = CLIMAQA
) -> tuple[list[Formed], int]:
    """The questions of a CSV or JSONL file, in its order, and how many rows people called invalid.

    ``columns``: the file's names for ``CLIMAQA``'s keys. Rows with options are choices, rows with
    ``<MASK>`` clozes, others freeform. Rows of one context share a scenario. Raises InputError that
    names the row, the column and what to do.
    """
    unknown = sorted(set(columns) - set(CLIMAQA))
    if unknown:
        raise InputError(f"'{unknown[0]}' is no part of a question: {', '.join(CLIMAQA)}")
    questions: list[Formed] = []
    invalid, seen = 0, dict[str, int]()
    for number, row in _rows(path):
        cells = {ours: _text(row.get(theirs)) for ours, theirs in columns.items()}
        where = f"{path}, row {number}"
        for name in NEEDED:
            if not cells.get(name):
                raise InputError(
                    f"{where}: column '{columns.get(name, name)}' is missing or empty; name it "
                    f"with --columns {name}=COLUMN"
                )
        if cells.get("valid", "").casefold() in ("false", "0", "no"):
            invalid += 1
            continue
        try:
            question = _question(cells, source, where)
        except (ValidationError, UnicodeEncodeError):
            raise InputError(f"{where}: it holds characters that are no text; mend them") from None
        if question.question_id in seen:
            raise InputError(
                f"{where}: the same question as row {seen[question.question_id]}; leave one out"
            )
        seen[question.question_id] = number
        questions.append(question)
    if not questions:
        raise InputError(f"{path} holds no question that counts as valid")
    return questions, invalid


def read_forms(path: Path) -> list[Formed]:
    """The questions of a file of ours. Raises InputError with file:line and field."""
    adapter = asked_forms()
    found: dict[str, Formed] = {}
    for number, line in enumerate(_content(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            question = adapter.validate_json(line)
        except ValidationError as error:
            problem = first_problem(error, "line")
            raise InputError(f"{path}:{number}: {problem}; make it again") from None
        if question.question_id in found:
            raise InputError(f"{path}:{number}: question_id '{question.question_id}' stands twice")
        found[question.question_id] = question
    if not found:
        raise InputError(f"{path} holds no question; generate or import some first")
    return list(found.values())


def _question(cells: Mapping[str, str], source: str, where: str) -> Formed:
    text, answer, context = cells["question"], cells["answer"], cells.get("context", "")
    level = _LEVELS.get(cells.get("level", "").casefold())
    if level is None:
        raise InputError(f"{where}: '{cells['level']}' is no level: base, reasoning, hypothetical")
    digest = hashlib.sha256((context or text).encode()).hexdigest()[:12]
    contexts = (SourceText(id=digest, text=context),) if context else ()
    make = Maker(source, f"{source}-{digest}", contexts, 0)
    if cells.get("options"):
        options = _options(cells["options"], where)
        right = _right(options, answer, where)
        return ChoiceQuestion(
            **make.common("choice", level, text, *options, str(right)),
            options=options,
            answer=right,
        )
    if MASK in text:
        if text.count(MASK) != 1:
            raise InputError(f"{where}: {MASK} stands {text.count(MASK)} times; leave one")
        return ClozeQuestion(**make.common("cloze", "base", text, answer), answer=answer)
    return make.freeform(level, text, answer)


def _options(text: str, where: str) -> tuple[str, str, str, str]:
    parts = [part.strip() for part in _OPTION.split(_RULE.sub("", text))[1:]]
    letters, options = [letter.lower() for letter in parts[::2]], parts[1::2]
    if letters != list(LETTERS) or not all(options):
        raise InputError(
            f"{where}: options {', '.join(letters) or 'without letters'}; four are needed, a line "
            "each: a) ... to d) ..."
        )
    return options[0], options[1], options[2], options[3]


def _right(options: tuple[str, ...], answer: str, where: str) -> int:
    letter = answer.strip(" ().:").lower()
    if len(letter) == 1 and letter in LETTERS:
        return LETTERS.index(letter)
    if answer in options:
        return options.index(answer)
    raise InputError(f"{where}: the answer '{answer}' is none of the options a to d")


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    text = _content(path)
    if path.suffix.lower() not in (".jsonl", ".json"):
        try:
            yield from enumerate(csv.DictReader(io.StringIO(text, newline="")), start=1)
        except csv.Error as error:
            raise InputError(f"{path} is no CSV ({error}); save it as CSV") from None
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}:{number} is not JSON ({error}); one object a line") from None
        if not isinstance(row, dict):
            raise InputError(f"{path}:{number}: an object a line is expected")
        yield number, row


def _text(cell: object) -> str:
    if isinstance(cell, list):
        return "\n".join(
            f"{letter}) {text}" for letter, text in zip("abcdefgh", cell, strict=False)
        )
    return "" if cell is None else str(cell).strip()


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start}); convert it") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path") from None
