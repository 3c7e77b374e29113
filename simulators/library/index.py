"""Rankings of a corpus's passages for a query: by words, by vectors, by both."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from simulators.library.corpus import DENSE, LEXICAL, EncoderName

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from simulators.library.encoder import Encoder

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
RankingName = Literal["bm25", "dense", "fused"]
_DECIMALS = 3
_FUSED_DEPTH = 100
_FUSED_RANK = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009)."""


def words(text: str) -> list[str]:
    """List the words in order: case and compatibility forms folded, English plurals as singulars.

    An index and its queries use the same.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [_singular(word) for word in _WORD.findall(folded) if word not in STOPWORDS]


def _singular(word: str) -> str:
    """Stem by the S-stemmer of Harman (1991): 'emissions' and 'emission' are one word."""
    if len(word) < _SHORTEST_PLURAL or not word.endswith("s"):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    return word if word.endswith(("us", "ss")) else word[:-1]


class Ranked(NamedTuple):
    """A passage by its number and how well it fits, in the ranking's own measure."""

    number: int
    score: float


class Ranking(Protocol):
    """Passages for a query, the best first."""

    def top(self, query: str, count: int) -> list[Ranked]:
        """Return at most ``count`` passages; ties go by their number."""
        ...


class LexicalRanking:
    """BM25 over a memory-mapped index; a passage without a word of the query is not found."""

    def __init__(self, folder: Path) -> None:
        from bm25s import BM25

        self._index = BM25.load(folder / LEXICAL, mmap=True, show_progress=False)

    def top(self, query: str, count: int) -> list[Ranked]:
        """Return at most ``count`` passages that share a word with the query."""
        known = self._index.vocab_dict
        asked = [known[word] for word in words(query) if word in known]
        return _best(self._index.get_scores(asked), count, above=0.0) if asked else []


class DenseRanking:
    """Cosines of sentence vectors."""

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        import numpy as np

        self._vectors = np.load(folder / DENSE, mmap_mode="r")
        self._encoder = encoder

    def top(self, query: str, count: int) -> list[Ranked]:
        """Return the nearest passages."""
        return _best(self._vectors @ self._encoder.encode([query])[0], count)


class FusedRanking:
    """Reciprocal rank fusion of the two."""

    def __init__(self, rankings: Sequence[Ranking]) -> None:
        self._rankings = rankings

    def top(self, query: str, count: int) -> list[Ranked]:
        """Return at most ``count`` of what either ranking has among its first hundred."""
        scores: dict[int, float] = {}
        for ranking in self._rankings:
            for rank, item in enumerate(ranking.top(query, _FUSED_DEPTH), start=1):
                scores[item.number] = scores.get(item.number, 0.0) + 1 / (_FUSED_RANK + rank)
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:count]
        return [Ranked(number, round(score, 6)) for number, score in best]


def open_ranking(folder: Path, name: RankingName, encoder: EncoderName | None) -> Ranking:
    """Open the ranking of a corpus whose files were checked. Raises MissingEngineError."""
    if name == "bm25":
        return LexicalRanking(folder)
    from simulators.library.encoder import Encoder

    dense = DenseRanking(folder, Encoder(expected=encoder))
    return dense if name == "dense" else FusedRanking([LexicalRanking(folder), dense])


def _best(scores: npt.NDArray[np.float32], count: int, above: float | None = None) -> list[Ranked]:
    """Take the highest scores; what is equal when rounded is a tie: a last bit decides none."""
    import numpy as np

    rounded = np.round(scores.astype(np.float64), _DECIMALS)
    if count < len(rounded):
        limit = np.partition(rounded, -count)[-count]
        candidates = np.flatnonzero(rounded >= limit)
    else:
        candidates = np.arange(len(rounded))
    if above is not None:
        candidates = candidates[scores[candidates] > above]
    order = candidates[np.argsort(-rounded[candidates], kind="stable")][:count]
    return [Ranked(int(number), float(rounded[number])) for number in order]
