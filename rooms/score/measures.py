"""The measures of SCORE by name: title, and what a value rests on."""

from __future__ import annotations

from typing import NamedTuple


class Measure(NamedTuple):
    """``needs``: the calls without which it has no value; ``undefined``: why else there is none."""

    title: str
    undefined: str
    needs: tuple[str, ...] = ()


_MARKS = ("claims", "judge 1")
_NO_EVIDENCE = "there is no evidence to leave out"
_UNSTATED = "no claim states it"
_SILENT = "its claims say nothing of the outputs"
_OTHER_LANGUAGE = "it is not English text"


def _needs(variant: str) -> tuple[str, ...]:
    return variant, f"reading {variant}", "reading answer", "claims"


MEASURES: dict[str, Measure] = {
    "specificity": Measure("Specificity", "no claim states a detail that has a weight", _MARKS),
    "specificity_scenario": Measure("Specificity, scenario", _UNSTATED, _MARKS),
    "specificity_place": Measure("Specificity, place", _UNSTATED, _MARKS),
    "specificity_time": Measure("Specificity, time", _UNSTATED, _MARKS),
    "specificity_magnitude": Measure("Specificity, magnitude", _UNSTATED, _MARKS),
    "relevance": Measure("Relevance", "nothing was asked back", ("asking back", "similarity")),
    "relevance_unmasked": Measure(
        "Relevance, nothing masked", "nothing was asked back", ("asking plainly", "similarity")
    ),
    "detrimental": Measure(
        "Sentences that take from the fit", "it is one sentence", ("similarity",)
    ),
    "same_calls": Measure("Same tool calls, reworded", "it rests on no tool call", ("paraphrase",)),
    "same_claims": Measure("Same claims, reworded", _SILENT, _needs("paraphrase")),
    "paraphrase_similarity": Measure("Similarity, reworded", "", ("paraphrase", "similarity")),
    "moved": Measure("Moved as simulated", _SILENT, _needs("perturbation")),
    "perturbation_similarity": Measure(
        "Similarity, other scenario", "", ("perturbation", "similarity")
    ),
    "context_use": Measure("Context use", _NO_EVIDENCE, ("forcing",)),
    "context_use_relative": Measure("Context use, relative", _NO_EVIDENCE, ("forcing",)),
    "evidence_gain": Measure("Gain of all evidence", _NO_EVIDENCE, ("forcing",)),
    "evidence_used": Measure(
        "Evidence used", "no sentence of the evidence has a number", ("claims",)
    ),
    "evidence_dependence": Measure(
        "Evidence dependence", "the evidence decides none of its claims", ("dependence", "claims")
    ),
    "reading_ease": Measure("Reading ease", _OTHER_LANGUAGE),
    "grade_level": Measure("Grade level", _OTHER_LANGUAGE),
}
"""By name, in the order of the tables."""

_NO_VARIANT = "no question was varied (score.variants)"
NOT_ASKED = {
    "paraphrase": _NO_VARIANT,
    "perturbation": _NO_VARIANT,
    "forcing": "no model that gives probabilities of words is named (score.confidence)",
    "dependence": "verdicts without each piece of evidence are off (score.dependence)",
}
"""By the first of its needs, why a measure has no row."""
