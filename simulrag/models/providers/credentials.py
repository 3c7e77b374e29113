"""Keys: read from the environment only, and kept out of every text that goes on."""

from __future__ import annotations

import os
import re
from functools import lru_cache

from simulrag.errors import EnvironmentFault

NO_KEY = "no-key-needed"
"""Sent to a server of one's own that asks for no key: the SDKs insist on some text."""

_SHORTEST_SECRET = 8
_SHOWN_CHARACTERS = 300


def read_key(variable: str | None, base_url: str) -> str:
    """The value of an environment variable, or NO_KEY where none is named.

    Raises EnvironmentFault where it is not set.
    """
    if variable is None:
        return NO_KEY
    key = os.environ.get(variable, "").strip()
    if not key:
        raise EnvironmentFault(
            f"the environment variable {variable} is not set; it must hold the key for {base_url} "
            "(set it there, never in a file of the project)"
        )
    return key


def known_key(variable: str | None) -> str:
    """The same where it is set, "" where not: for texts that must not hold it."""
    return "" if variable is None else os.environ.get(variable, "").strip()


def scrub(text: str, key: str) -> str:
    """``text`` on one short line, without the key that a server may have quoted in it."""
    return " ".join(without_key(text, key).split())[:_SHOWN_CHARACTERS]


def without_key(text: str, key: str) -> str:
    """``text`` with the key replaced by ``***``, also where JSON escapes a part of it."""
    # Shorter ones are placeholders such as "EMPTY", which may well be words of a reply.
    if len(key) < _SHORTEST_SECRET or key == NO_KEY:
        return text
    if "\\" not in text:
        return text.replace(key, "***")
    return _spellings(key).sub("***", text)


@lru_cache(maxsize=16)
def _spellings(key: str) -> re.Pattern[str]:
    r"""A text's every spelling within a JSON string: each letter plain, as ``\u0073`` or ``\/``."""
    letters = (rf"(?:{re.escape(one)}|\\u{ord(one):04x}|\\{re.escape(one)})" for one in key)
    return re.compile("".join(letters), re.IGNORECASE)
