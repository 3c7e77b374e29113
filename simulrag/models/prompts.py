"""Prompts are files: ``prompts/<task>.md.j2``, a system part and a user part.

A line ``=== user`` parts the two. Sections that data is put into carry tags (``<question>``), so
that a reader, human or model, sees where the data begins and ends. Data cannot end them: what
would close one of the prompts' own tags, or part system from user, gets a backslash.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from jinja2 import (
    Environment,
    FileSystemLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
    UndefinedError,
)

from simulrag.errors import EnvironmentFault, InputError
from simulrag.models.base import Message

SEPARATOR = "=== user\n"
_SUFFIX = ".md.j2"
_CLOSING = re.compile(r"</([a-z_]+)>")
_UNSEEN = (
    r"\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U000e0000-\U000e0fff"
)
"""What Unicode has a reader ignore, and controls, as a class of a pattern."""
_IS_UNSEEN = re.compile(f"[{_UNSEEN}]")
_OF_A_NAME = re.compile(r"[a-z0-9_-]+")
_GAP = rf"[\s{_UNSEEN}]*"
_CLOSING_SPELLED = re.compile(
    rf"[<\u2039\uff1c\ufe64]{_GAP}(?P<slash>[/\uff0f\u2044\u2215\u29f8]){_GAP}"
)
"""The beginning of a closing tag in other signs too: of full width, with blanks or unseen signs."""
_LONGEST_SPELLING = 1000
_SEPARATING = re.compile(r"(?<===)=(?= user(?:\n|\Z))", re.IGNORECASE)


class Prompts:
    """The prompt templates of a folder; those of a folder of one's own in it override by name.

    A template is looked for in ``folder/<overrides>``, then in ``folder``, then in ``further``.
    Raises InputError where there is no such folder.
    """

    def __init__(
        self, folder: Path, overrides: str | None = None, further: Sequence[Path] = ()
    ) -> None:
        if overrides is not None and not (folder / overrides).is_dir():
            raise InputError(_no_folder(folder, overrides))
        own = () if overrides is None else (folder / overrides,)
        self._places = (*own, folder, *further)

    def tasks(self) -> list[str]:
        """List every task that has a prompt, sorted."""
        files = [file for place in self._places for file in place.glob(f"*{_SUFFIX}")]
        return sorted({file.name.removesuffix(_SUFFIX) for file in files})

    def require(self, tasks: Iterable[str]) -> None:
        """Raise InputError for a task of params.yaml that has no prompt."""
        known = self.tasks()
        for task in sorted(tasks):
            if task not in known:
                raise InputError(
                    f"params.yaml overrides the task '{task}'; there are: {', '.join(known)}"
                )

    def render(self, task: str, **values: object) -> tuple[Message, ...]:
        """Render the messages of a task's prompt.

        Raises InputError where there is none, and for one that is no template of these values.
        """
        try:
            text = self._environment.get_template(f"{task}{_SUFFIX}").render(**values)
        except TemplateNotFound as error:
            raise InputError(
                f"no prompt '{error.name}' in {' or '.join(map(str, self._places))}; there are: "
                f"{', '.join(self.tasks())}"
            ) from None
        except TemplateSyntaxError as error:
            place = error.filename or f"{task}{_SUFFIX}"
            raise InputError(f"{place}, line {error.lineno}: {error.message}") from None
        except UndefinedError as error:
            raise InputError(
                f"the prompt {task}{_SUFFIX}: {error.message}; it is given: "
                f"{', '.join(sorted(values))}"
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
        """Put a value into a template: most as they are, byte for byte.

        What data must not hold gets a backslash: the slash of a tag that closes one of the
        prompts', however it is spelled, and the last '=' of the separator.
        """
        text = str(value)
        marks = [match.start() for match in _SEPARATING.finditer(text)]
        marks += [
            match.start("slash")
            for match in _CLOSING_SPELLED.finditer(text)
            if _name_after(text, match.end()) in self._tags
        ]
        if not marks:
            return value
        cuts = [0, *sorted(marks), len(text)]
        return "\\".join(text[start:end] for start, end in pairwise(cuts))

    @cached_property
    def _tags(self) -> frozenset[str]:
        """The names of the tags that some prompt closes."""
        return frozenset(
            tag
            for place in self._places
            for file in place.glob(f"*{_SUFFIX}")
            for tag in _CLOSING.findall(file.read_text(encoding="utf-8"))
        )


def _name_after(text: str, start: int) -> str:
    """Read the tag's name as a reader does: letters of any width and case, no unseen sign.

    Looks no further than the name goes, at most ``_LONGEST_SPELLING`` signs.
    """
    name = ""
    for place in range(start, min(start + _LONGEST_SPELLING, len(text))):
        if _IS_UNSEEN.match(text, place):
            continue
        seen = unicodedata.normalize("NFKC", text[place]).casefold()
        if not _OF_A_NAME.fullmatch(seen):
            break
        name += seen
    return name


def _no_folder(folder: Path, overrides: str) -> str:
    """Say what is missing, and the ways on, in one line."""
    return (
        f"params.yaml: prompts: there is no folder {folder / overrides}; make it and copy what you "
        f"want to change from {folder} into it, or set prompts: null"
    )


def packaged_prompts() -> Prompts:
    """Open the prompts that come with the package: the folder ``prompts`` beside ``simulrag``.

    It lies there in a clone and in an installed wheel alike. Raises EnvironmentFault where it does
    not.
    """
    folder = Path(__file__).resolve().parents[2] / "prompts"
    if not folder.is_dir():
        raise EnvironmentFault(f"the prompts are missing at {folder}; install simulrag again")
    return Prompts(folder)
