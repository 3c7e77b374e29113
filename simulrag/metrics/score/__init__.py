"""The measures of SCORE (arXiv 2602.10017) as pure functions; nothing here asks a model."""

from simulrag.metrics.score.agreement import Correlation, fleiss_kappa, pearson, spearman
from simulrag.metrics.score.context import (
    confidence,
    context_use,
    evidence_dependence,
    evidence_used,
    gain,
    losses,
)
from simulrag.metrics.score.readability import (
    COUNTER,
    Counts,
    counts,
    ease_band,
    grade_band,
    readability,
    sentences,
)
from simulrag.metrics.score.relevance import LeftOut, Scorer, asked_back, leave_one_out
from simulrag.metrics.score.robustness import (
    Moves,
    SameClaims,
    cosine,
    moves,
    same_calls,
    same_claims,
)
from simulrag.metrics.score.specificity import (
    DETAILS,
    WEIGHTS,
    Mark,
    Marks,
    detail_shares,
    majority,
    specificity,
    voted,
)

__all__ = [
    "COUNTER",
    "DETAILS",
    "WEIGHTS",
    "Correlation",
    "Counts",
    "LeftOut",
    "Mark",
    "Marks",
    "Moves",
    "SameClaims",
    "Scorer",
    "asked_back",
    "confidence",
    "context_use",
    "cosine",
    "counts",
    "detail_shares",
    "ease_band",
    "evidence_dependence",
    "evidence_used",
    "fleiss_kappa",
    "gain",
    "grade_band",
    "leave_one_out",
    "losses",
    "majority",
    "moves",
    "pearson",
    "readability",
    "same_calls",
    "same_claims",
    "sentences",
    "spearman",
    "specificity",
    "voted",
]
