"""Templates of questions that a person wrote, checked as a model's are.

The file has the form of ``data/benchmark/DOMAIN-templates.json``, a list, in YAML or JSON; what a
template mostly leaves empty may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from simulators.base import Simulator
from simulrag.errors import InputError, all_problems, problems_of_file
from simulrag.questions.records import SetUpTemplate, Template
from simulrag.questions.templates import sorted_out, told_to_writers

UNSAID: Mapping[str, Mapping[str, Any]] = {
    "placeholders": {"decimals": 0, "wording": "value"},
    "choices": {},
    "runs": {"uses": [], "fixed": []},
    "asks": {
        **{"run": 1, "against": 0, "scale": "value"},
        **{"classes": [], "answers": [], "better": "neither"},
    },
}
"""By part of a template: what its entries are where they do not say."""


def templates_by_hand(raw: object, path: Path, simulator: Simulator) -> list[Template]:
    """The templates of a file whose content is ``raw``. Raises InputError with their problems."""
    if not isinstance(raw, list) or not raw:
        raise InputError(f"{path}: a list of templates is expected; each begins with '- '")
    templates: list[Template] = []
    problems: list[str] = []
    for number, given in enumerate(raw, start=1):
        try:
            templates.append(_template(given))
        except ValidationError as error:
            problems.append(f"template {number}: {all_problems(error)}")
    handbook = told_to_writers(simulator, set_up=True)
    problems += sorted_out(templates, simulator, handbook).problems
    if problems:
        raise problems_of_file(path, problems)
    return templates


def _template(given: object) -> Template:
    if not isinstance(given, dict):
        return Template.model_validate(given)
    parts = {"placeholders": [], "choices": [], **given}
    for part, unsaid in UNSAID.items():
        if isinstance(entries := parts.get(part), list):
            parts[part] = [{**unsaid, **e} if isinstance(e, dict) else e for e in entries]
    if "set_up" in parts:
        return SetUpTemplate.model_validate({"beyond": [], **parts})
    return Template.model_validate(parts)
