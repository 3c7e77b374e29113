"""The words of a text, as the lexical index counts them; an index and its queries use the same."""

from __future__ import annotations

import re
import unicodedata

# A number keeps its decimals ("1.5"), a formula its digits ("co2").
_WORD = re.compile(r"[^\W_]+(?:\.\d+)?")
_SHORTEST_PLURAL = 4

STOPWORDS = frozenset(
    _WORD.findall(
        "a an and any are as at be been but by can could did do does for from had has have how i "
        "if in into is it its may might no not of on or our shall should so such than that the "
        "their them then there these they this those to was we were what when where which while "
        "who why will with would you your"
    )
)
"""Words that say nothing of what a text is about."""


def words(text: str) -> list[str]:
    """The words in order: case and compatibility forms folded, English plurals as singulars."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [_singular(word) for word in _WORD.findall(folded) if word not in STOPWORDS]


def _singular(word: str) -> str:
    """The S-stemmer of Harman (1991): 'emissions' and 'emission' are one word."""
    if len(word) < _SHORTEST_PLURAL or not word.endswith("s"):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    return word if word.endswith(("us", "ss")) else word[:-1]
