"""Questions by form in the file formats of lm-evaluation-harness and inspect_ai.

lm-evaluation-harness reads a folder of task files (YAML) beside their data, one task a form, with
``--include_path``. inspect_ai's ``json_dataset`` reads a line a sample by its own field names:
https://inspect.aisi.org.uk/datasets.html.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rooms.forms.records import LETTERS, ChoiceQuestion, Formed

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
    """By file name: a task and its data for each form there is. ``folder``: where they will lie."""
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
    """By file name: samples of each form, for ``json_dataset``; a choice's target is its letter."""
    return {f"{name}-{form}.jsonl": lines for form, lines in _lines(questions, _sample)}


def _row(question: Formed) -> dict[str, Any]:
    options = question.options if isinstance(question, ChoiceQuestion) else ()
    told = {"question": question.text, "options": options, "answer": question.answer}
    return {"question_id": question.question_id, **told, **_where(question)}


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
    """Each form that there is, with a line of JSON for each question of it."""
    for form in _TASKS:
        rows = [line(question) for question in questions if question.form == form]
        if rows:
            yield form, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
