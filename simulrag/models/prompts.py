"""Prompts are files: ``prompts/<task>.md.j2``, a system part and a user part.

A line ``=== user`` parts the two. Sections that data is put into carry tags (``<question>``), so
that a reader, human or model, sees where the data begins and ends.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateNotFound

from simulrag.errors import EnvironmentFault
from simulrag.models.base import Message

SEPARATOR = "=== user\n"


class Prompts:
    """The prompt templates of one folder."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @cached_property
    def _environment(self) -> Environment:
        return Environment(
            loader=FileSystemLoader(self.directory),
            undefined=StrictUndefined,
            autoescape=False,  # noqa: S701 plain text, not HTML
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )

    def render(self, task: str, **values: object) -> tuple[Message, ...]:
        """The messages of a task's prompt."""
        try:
            text = self._environment.get_template(f"{task}.md.j2").render(**values)
        except TemplateNotFound:
            raise EnvironmentFault(
                f"no prompt '{task}.md.j2' in {self.directory}; run from the project's root"
            ) from None
        text = re.sub(r"\n{3,}", "\n\n", text)
        if SEPARATOR not in text:
            return (Message(role="user", content=text.strip()),)
        system, user = text.split(SEPARATOR, 1)
        return (
            Message(role="system", content=system.strip()),
            Message(role="user", content=user.strip()),
        )
