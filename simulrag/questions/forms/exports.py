"""Questions by form in the file formats of lm-evaluation-harness and inspect_ai.

lm-evaluation-harness reads a folder of task files (YAML) beside their data, one task a form, with
``--include_path``. inspect_ai's ``json_dataset`` reads a line a sample by its own field names:
https://inspect.aisi.org.uk/datasets.html.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from simulrag.questions.forms.records import LETTERS, ChoiceQuestion, ClozeQuestion, Formed

FORMS = ("choice", "freeform", "cloze")
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
    for form in FORMS:
        rows = [_row(question) for question in questions if question.form == form]
        if not rows:
            continue
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
        files[f"{form}.jsonl"] = _lines(rows)
    return files


def inspect_files(questions: Sequence[Formed], name: str) -> dict[str, str]:
    """By file name: samples of each form, for ``json_dataset``; a choice's target is its letter."""
    files: dict[str, str] = {}
    for form in FORMS:
        rows = [_sample(question) for question in questions if question.form == form]
        if rows:
            files[f"{name}-{form}.jsonl"] = _lines(rows)
    return files


def _row(question: Formed) -> dict[str, Any]:
    options = list(question.options) if isinstance(question, ChoiceQuestion) else []
    return {
        **_told(question),
        "question": question.text,
        "options": options,
        "answer": question.answer,
    }


def _sample(question: Formed) -> dict[str, Any]:
    sample = {"id": question.question_id, "input": question.text, "metadata": _told(question)}
    if isinstance(question, ChoiceQuestion):
        target = LETTERS[question.answer].upper()
        return {**sample, "choices": list(question.options), "target": target}
    return {**sample, "target": question.answer}


def _told(question: Formed) -> dict[str, str]:
    return {
        "question_id": question.question_id,
        "level": "" if isinstance(question, ClozeQuestion) else question.level,
        "scenario_id": question.scenario_id,
        "source": question.source,
    }


def _lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
