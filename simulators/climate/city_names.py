"""Names of cities as they are looked up: diacritics folded, punctuation and case ignored."""

from __future__ import annotations

import unicodedata

_LETTERS = str.maketrans(
    {
        "ø": "o", "Ø": "o", "ł": "l", "Ł": "l", "đ": "d", "Đ": "d", "ß": "ss", "æ": "ae",
        "Æ": "ae", "œ": "oe", "Œ": "oe", "ı": "i", "ð": "d", "Ð": "d", "þ": "th", "Þ": "th",
        "ħ": "h", "ə": "e", "Ə": "e", "-": " ", "/": " ", ",": " ",
    }
)  # fmt: skip
_SILENT = dict.fromkeys(map(ord, "'’‘ʻʼ`´ʿʾ′."))


def fold(name: str) -> str:
    """The key of a name: 'São José' and 'sao jose' have the same."""
    letters = name.translate(_LETTERS)
    if not letters.isascii():
        plain = unicodedata.normalize("NFKD", letters)
        letters = "".join(c for c in plain if not unicodedata.combining(c))
    return " ".join(letters.translate(_SILENT).casefold().split())
