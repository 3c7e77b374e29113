"""Names of cities as they are looked up: diacritics folded, punctuation and case ignored."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

_LETTERS = str.maketrans(
    {
        "ø": "o", "Ø": "o", "ł": "l", "Ł": "l", "đ": "d", "Đ": "d", "ß": "ss", "æ": "ae",
        "Æ": "ae", "œ": "oe", "Œ": "oe", "ı": "i", "ð": "d", "Ð": "d", "þ": "th", "Þ": "th",
        "ħ": "h", "ə": "e", "Ə": "e", "-": " ", "/": " ", ",": " ",
    }
)  # fmt: skip
_SILENT = {"'", "’", "‘", "ʻ", "ʼ", "`", "´", "ʿ", "ʾ", "′", "."}


def fold(name: str) -> str:
    """The key of a name: 'São José' and 'sao jose' have the same."""
    letters = name.translate(_LETTERS)
    plain = letters if letters.isascii() else unicodedata.normalize("NFKD", letters)
    kept = "".join(c for c in plain if c not in _SILENT and not unicodedata.combining(c))
    return " ".join(kept.casefold().split())


def variants(city: Mapping[str, object]) -> list[str]:
    """Folded alternate names in Latin letters of four letters or more, other than the name."""
    own = fold(str(city["name"]))
    given = city["alternatenames"]
    names = {fold(str(name)) for name in given} if isinstance(given, list) else set()
    return sorted(name for name in names if name.isascii() and len(name) > 3 and name != own)


def asset_line(city: Mapping[str, object], known: list[str]) -> str:
    """One line of the asset: name, latitude, longitude, country, population, variants."""
    cells = [
        str(city["name"]).replace("\t", " "),
        f"{float(str(city['latitude'])):.2f}",
        f"{float(str(city['longitude'])):.2f}",
        str(city["countrycode"]),
        str(city["population"]),
        "|".join(known),
    ]
    return "\t".join(cells)
