"""Prompts are files: ``prompts/<task>.md.j2``, a system part and a user part.

A line ``=== user`` parts the two. Sections that data is put into carry tags (``<question>``), so
that a reader, human or model, sees where the data begins and ends. Data cannot end them: what
would close one of the prompts' own tags, part system from user, or begin a message where a server
reads marks of a chat template in texts, gets a backslash.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from jinja2 import (
    FileSystemLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateRuntimeError,
    TemplateSyntaxError,
    UndefinedError,
)
from jinja2.sandbox import SandboxedEnvironment

from simulrag.errors import EnvironmentFault, InputError
from simulrag.models.base import Message, encodable

SEPARATOR = "=== user\n"
_SUFFIX = ".md.j2"
_CLOSING = re.compile(r"</([a-z_]+)>")
_UNSEEN = (
    r"\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""What Unicode has a reader ignore, and controls, as a class of a pattern."""
_IS_UNSEEN = re.compile(f"[{_UNSEEN}]")
_OF_A_NAME = re.compile(r"[a-z0-9_-]+")
_GAP = rf"[\s{_UNSEEN}]*"
_LOOK_ALIKES = (
    "<\u2039\uff1c\ufe64\u27e8\u3008\u2329\u276e\u276c\u2770\u00ab\u02c2\u1438 "
    ">\u203a\uff1e\ufe65\u27e9\u3009\u232a\u276f\u276d\u2771\u00bb\u02c3\u1433 "
    "/\uff0f\u2044\u2215\u29f8\u2571\u27cb\u0337\u0338\u1735\u2cc6\u3033\u4e3f "
    "|\uff5c\u2223\u2502\u01c0\u2758\uffe8 [\uff3b ]\uff3d _\uff3f a\u0430\u0410\u03b1\u0391 "
    "b\u044c\u0432\u0412\u0392 c\u0441\u0421\u03f2\u03f9 d\u0501\u0500 "
    "e\u0435\u0415\u03b5\u0395\u04bd g\u0261\u0581\u050c h\u04bb\u04ba\u0570\u041d\u0397 "
    "i\u0456\u0406\u03b9\u0399\u0131 j\u0458\u0408\u03f3 k\u043a\u041a\u03ba\u039a l\u04cf\u04c0 "
    "m\u043c\u041c\u039c n\u0578\u03b7\u039d o\u043e\u041e\u03bf\u039f\u0585\u0555 "
    "p\u0440\u0420\u03c1\u03a1 q\u051b\u051a\u0566 r\u0433\uab47 s\u0455\u0405\u054f "
    "t\u0442\u0422\u03c4\u03a4 u\u03c5\u057d\u054d v\u03bd\u0475\u0474 w\u051d\u051c\u0461 "
    "x\u0445\u0425\u03c7\u03a7 y\u0443\u0423\u03b3\u03a5\u04af z\u1d22\u0396"
)
"""Words of a sign and what a reader takes for it: of full width, or from Unicode's confusables."""
_FOLDED = {ord(sign): word[0] for word in _LOOK_ALIKES.split() for sign in word[1:]}
_CLOSING_SPELLED = re.compile(rf"(?:<{_GAP}(?=/)|\u226e)(?P<mark>/?){_GAP}")
"""The beginning of a closing tag, blanks or unseen signs in it; U+226E is '<' with U+0338."""
_CHAT_MARK = re.compile(
    r"<(?=\|[^<>|\s]{1,64}\|>|</?SYS>>"
    r"|/?(?:s|bos|eos|pad|unk|think|tool_\w{1,20}|(?:start|end)_of_\w{1,20})>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_\w{1,20})\])",
    re.IGNORECASE,
)
"""Where a mark begins by which chat templates tell who speaks, thinks or calls a tool."""
_LONGEST_SPELLING = 1000
_SLIPS = (ArithmeticError, LookupError, RecursionError, TypeError, ValueError)
"""What a template of one's own may raise beside Jinja's errors."""
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
        except (TemplateRuntimeError, *_SLIPS) as error:
            given = ", ".join(sorted(values)) if isinstance(error, UndefinedError) else ""
            what = f"{error}; it is given: {given}" if given else str(error)
            raise InputError(f"the prompt {task}{_SUFFIX}: {what}") from None
        text = re.sub(r"\n{3,}", "\n\n", text)
        if SEPARATOR not in text:
            return (Message(role="user", content=text.strip()),)
        system, user = text.split(SEPARATOR, 1)
        return (
            Message(role="system", content=system.strip()),
            Message(role="user", content=user.strip()),
        )

    @cached_property
    def _environment(self) -> SandboxedEnvironment:
        return SandboxedEnvironment(
            loader=FileSystemLoader(self._places),
            undefined=StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            finalize=self.as_data,
        )

    def as_data(self, value: object) -> str:
        """Write a value as a template takes it: most as they are, byte for byte.

        What data must not hold gets a backslash: a tag that closes one of the prompts', however it
        is spelled, a mark of a chat template, and the last '=' of the separator. Half a surrogate
        pair, which nothing can send, becomes a question mark.
        """
        text = encodable(str(value))
        folded = text if text.isascii() else text.translate(_FOLDED)
        marks = {match.start() for match in _SEPARATING.finditer(text)}
        marks |= {match.end() for match in _CHAT_MARK.finditer(folded)}
        marks |= {
            match.start("mark")
            for match in _CLOSING_SPELLED.finditer(folded)
            if _name_after(folded, match.end()) in self._tags
        }
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
