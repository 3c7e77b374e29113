"""The tagged parts of a rendered prompt, as any reader of the messages sees them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from simulrag.models.base import Message

_NUMBERED = re.compile(r"^(\d+): (.*?)(?=^\d+: |\Z)", re.M | re.S)
_BULLET = re.compile(r"^- (.*?)(?=^- |\Z)", re.M | re.S)


def section(messages: Sequence[Message], tag: str) -> str | None:
    """The text between ``<tag>`` and ``</tag>``, None where the prompt has no such part.

    The tags stand on lines of their own, so the first opening and the last closing line of a
    message are the prompt's even where the data holds the same tag.
    """
    for message in messages:
        match = re.search(rf"^<{tag}>\n(.*)^</{tag}>", message.content, re.M | re.S)
        if match:
            return match[1].strip()
    return None


def numbered(text: str) -> list[str]:
    """The items of a ``0: ...`` list in order."""
    return [match[2].strip() for match in _NUMBERED.finditer(text + "\n")]


def bullets(text: str) -> list[str]:
    """The items of a ``- ...`` list in order."""
    return [match[1].strip() for match in _BULLET.finditer(text + "\n")]
