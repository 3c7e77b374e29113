"""Questions by form in files: read from published tables and ours, and exported for others.

Read are ClimaQA's published tables, any CSV or JSONL, and files of ours. ClimaQA's columns:
Question, Options ("a) ..." and so on, parted by lines of hyphens), Answer (a letter where there are
options), Complexity (BASE, REASONING, HYPOTHETICAL), Validation (True where experts approved) and,
in some, Context.

lm-evaluation-harness reads a folder of task files (YAML) beside their data, one task a form, with
``--include_path``. inspect_ai's ``json_dataset`` reads a line a sample by its own field names:
https://inspect.aisi.org.uk/datasets.html.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rooms.forms.generation import Maker
from rooms.forms.records import (
    FORMED,
    LETTERS,
    MASK,
    ChoiceQuestion,
    ClozeQuestion,
    Formed,
    Level,
    SourceText,
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
    """Read the questions of a CSV or JSONL file, and count the rows that people called invalid.

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
    """Read the questions of a file of ours. Raises InputError with file:line and field."""
    questions: dict[str, Formed] = {}
    for number, line in enumerate(_content(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            question = FORMED.validate_json(line)
        except ValidationError as error:
            problem = first_problem(error, "line")
            raise InputError(f"{path}:{number}: {problem}; make it again") from None
        if question.question_id in questions:
            raise InputError(f"{path}:{number}: question_id '{question.question_id}' stands twice")
        questions[question.question_id] = question
    if not questions:
        raise InputError(f"{path} holds no question; generate or import some first")
    return list(questions.values())


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


_SHARED = {"test_split": "test", "output_type": "generate_until", "doc_to_target": "{{answer}}"}
_GENERATED = {"until": ["\n\n"], "max_gen_toks": 256}
_TASKS: Mapping[str, Mapping[str, Any]] = {
    "choice": {
        "output_type": "multiple_choice",
        "doc_to_text": "{{question}}\nAnswer:",
        "doc_to_choice": "{{options}}",
        "doc_to_target": "{{answer}}",
        "metric_list": [{"metric": "acc"}],
    },
    "freeform": {
        "doc_to_text": "{{question}}\nAnswer in at most two sentences:",
        "generation_kwargs": _GENERATED,
        "metric_list": [{"metric": "bleu"}],
    },
    "cloze": {
        "doc_to_text": "{{question}}\nThe term in place of <MASK>:",
        "generation_kwargs": _GENERATED,
        "metric_list": [{"metric": "exact_match", "ignore_case": True, "ignore_punctuation": True}],
    },
}


def lm_eval_files(questions: Sequence[Formed], name: str, folder: str) -> dict[str, str]:
    """Return by file name a task and its data for each form there is; they go to ``folder``."""
    files: dict[str, str] = {}
    for form, lines in _lines(questions, _row):
        task = {
            "task": f"{name}_{form}",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": f"{folder}/{form}.jsonl"}},
            **_SHARED,
            **_TASKS[form],
            "metadata": {"version": 1.0},
        }
        # JSON is YAML, and needs no writer of its own.
        files[f"{name}_{form}.yaml"] = json.dumps(task, indent=2) + "\n"
        files[f"{form}.jsonl"] = lines
    return files


def inspect_files(questions: Sequence[Formed], name: str) -> dict[str, str]:
    """Return by file name samples of each form, for ``json_dataset``.

    A choice's target is its letter.
    """
    return {f"{name}-{form}.jsonl": lines for form, lines in _lines(questions, _sample)}


def _row(question: Formed) -> dict[str, Any]:
    options = question.options if isinstance(question, ChoiceQuestion) else ()
    fields = {"question": question.text, "options": options, "answer": question.answer}
    return {"question_id": question.question_id, **fields, **_where(question)}


def _sample(question: Formed) -> dict[str, Any]:
    target, options = question.answer, {}
    if isinstance(question, ChoiceQuestion):
        target, options = LETTERS[question.answer].upper(), {"choices": question.options}
    asked = {"id": question.question_id, "input": question.text, "target": target}
    return {**asked, **options, "metadata": _where(question)}


def _where(question: Formed) -> dict[str, str]:
    return question.model_dump(include={"level", "scenario_id", "source"})


def _lines(
    questions: Sequence[Formed], line: Callable[[Formed], dict[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Yield each form that there is, with a line of JSON for each question of it."""
    for form in _TASKS:
        rows = [line(question) for question in questions if question.form == form]
        if rows:
            yield form, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
