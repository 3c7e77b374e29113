"""The measures of SCORE (arXiv 2602.10017) as pure functions; nothing here asks a model."""

from simulrag.metrics.score.agreement import fleiss_kappa, spearman
from simulrag.metrics.score.context import (
    confidence,
    context_use,
    evidence_dependence,
    evidence_used,
    gain,
    losses,
)
from simulrag.metrics.score.readability import COUNTER, readability, sentences
from simulrag.metrics.score.relevance import Scorer, asked_back, leave_one_out
from simulrag.metrics.score.robustness import moves, same_calls, same_claims
from simulrag.metrics.score.specificity import DETAILS, WEIGHTS, Mark, detail_shares, specificity

__all__ = [
    "COUNTER",
    "DETAILS",
    "WEIGHTS",
    "Mark",
    "Scorer",
    "asked_back",
    "confidence",
    "context_use",
    "detail_shares",
    "evidence_dependence",
    "evidence_used",
    "fleiss_kappa",
    "gain",
    "leave_one_out",
    "losses",
    "moves",
    "readability",
    "same_calls",
    "same_claims",
    "sentences",
    "spearman",
    "specificity",
]
