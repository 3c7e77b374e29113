"""Whether an answer is the term itself: as written, and folded."""

from __future__ import annotations

import string
import unicodedata

_SIGNS = string.punctuation.replace("%", "") + "“”‘’«»„…–—·"
_SHORTEST_PLURAL = 4


def exact(reference: str, answer: str) -> bool:
    """The same text, character by character: the published measure."""
    return reference == answer


def exact_folded(reference: str, answer: str) -> bool:
    """The same but for case, compatibility forms, signs around words and an English plural's s."""
    one, two = folded(reference), folded(answer)
    return one == two if one or two else exact(reference, answer)


def folded(text: str) -> str:
    """The words of a term in the form in which they are compared; numbers keep their sign."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("\N{MINUS SIGN}", "-")
    words = (_singular(_bare(word)) for word in plain.split())
    return " ".join(word for word in words if word).replace(" %", "%")


def _bare(word: str) -> str:
    bare = word.strip(_SIGNS)
    before = word[: word.find(bare)]
    return f"-{bare}" if bare[:1].isdigit() and before.endswith("-") else bare


def _singular(word: str) -> str:
    """The rules of Harman's S-stemmer (1991, doi:10.1002/(SICI)1097-4571)."""
    if len(word) < _SHORTEST_PLURAL or word.endswith(("us", "ss", "is")):
        return word
    return f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")
