"""Prompts are files: ``prompts/<task>.md.j2``, a system part and a user part.

A line ``=== user`` parts the two. Sections that data is put into carry tags (``<question>``), so
that a reader, human or model, sees where the data begins and ends. Data cannot end them: what
would close one of the prompts' own tags, or part system from user, gets a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateNotFound

from simulrag import registry
from simulrag.errors import EnvironmentFault, InputError
from simulrag.models.base import Message

SEPARATOR = "=== user\n"
_SUFFIX = ".md.j2"
_GONE = ("first", "second", "common")
"""The sets of version 0.2.0, which no folder of this version holds."""
_CLOSING = re.compile(r"</([a-z_]+)>")


class Prompts:
    """The prompt templates of a folder; those of a folder of one's own in it override by name.

    A template is looked for in ``folder/<overrides>`` first, then in ``folder`` and in its rooms.
    Raises InputError where there is no such folder.
    """

    def __init__(self, folder: Path, overrides: str | None = None) -> None:
        if overrides is not None and not (folder / overrides).is_dir():
            raise InputError(_no_folder(folder, overrides))
        own = () if overrides is None else (folder / overrides,)
        self._places = (*own, folder, *(folder / room for room in registry.rooms()))

    def tasks(self) -> list[str]:
        """Every task that has a prompt, sorted."""
        files = [file for place in self._places for file in place.glob(f"*{_SUFFIX}")]
        return sorted({file.name.removesuffix(_SUFFIX) for file in files})

    def require(self, tasks: Iterable[str]) -> None:
        """Raises InputError for a task of params.yaml that has no prompt."""
        known = self.tasks()
        for task in sorted(tasks):
            if task not in known:
                raise InputError(
                    f"params.yaml overrides the task '{task}'; there are: {', '.join(known)}"
                )

    def render(self, task: str, **values: object) -> tuple[Message, ...]:
        """The messages of a task's prompt. Raises InputError where there is none."""
        try:
            text = self._environment.get_template(f"{task}{_SUFFIX}").render(**values)
        except TemplateNotFound as error:
            raise InputError(
                f"no prompt '{error.name}' in {' or '.join(map(str, self._places))}; there are: "
                f"{', '.join(self.tasks())}"
            ) from None
        text = re.sub(r"\n{3,}", "\n\n", text)
        if SEPARATOR not in text:
            return (Message(role="user", content=text.strip()),)
        system, user = text.split(SEPARATOR, 1)
        return (
            Message(role="system", content=system.strip()),
            Message(role="user", content=user.strip()),
        )

    @cached_property
    def _environment(self) -> Environment:
        return Environment(
            loader=FileSystemLoader(self._places),
            undefined=StrictUndefined,
            autoescape=False,  # noqa: S701 plain text, not HTML
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            finalize=self._as_data,
        )

    def _as_data(self, value: object) -> object:
        """A value as it is put into a template: most as they are, byte for byte."""
        text = str(value)
        return self._breaking.sub(r"\\\g<0>", text) if self._breaking.search(text) else value

    @cached_property
    def _breaking(self) -> re.Pattern[str]:
        """What data must not hold: the slash of a closing tag, the last '=' of the separator.

        A slash that white space parts from the tag's name closes it for a reader too.
        """
        tags = sorted(
            {
                tag
                for place in self._places
                for file in place.glob(f"*{_SUFFIX}")
                for tag in _CLOSING.findall(file.read_text(encoding="utf-8"))
            }
        )
        names = "|".join(tags) or r"(?!)"
        return re.compile(
            rf"(?<=<)/(?=\s*(?:{names})(?![a-z0-9_-]))|(?<===)=(?= user(?:\n|\Z))", re.IGNORECASE
        )


def _no_folder(folder: Path, overrides: str) -> str:
    """What is missing, and the ways on, in one line."""
    missing = f"params.yaml: prompts: there is no folder {folder / overrides}"
    if overrides in _GONE:
        return (
            f"{missing}: the sets {', '.join(_GONE)} are gone; copy your old prompts/common, and "
            f"prompts/{overrides} over it, to {folder / overrides} to go on with stored calls, "
            "or set prompts: null"
        )
    return (
        f"{missing}; make it and copy what you want to change from {folder} into it, or set "
        "prompts: null"
    )


def packaged_prompts() -> Prompts:
    """The prompts that come with the package: the folder ``prompts`` beside ``simulrag``.

    It lies there in a clone and in an installed wheel alike. Raises EnvironmentFault where it does
    not.
    """
    folder = Path(__file__).resolve().parents[2] / "prompts"
    if not folder.is_dir():
        raise EnvironmentFault(f"the prompts are missing at {folder}; install simulrag again")
    return Prompts(folder)
