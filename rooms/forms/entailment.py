"""Whether a reference answer supports a given one, as an evaluator sees it (ClimaQA, section 3.2).

Published: the evaluator is shown the reference as evidence and says SUPPORTS or REFUTES; the
probabilities of the two labels' first tokens are normalised (arXiv 2410.16701), and smoothed to the
factual accuracy. What it gives depends on how saturated the evaluator's probabilities are, so
values of two evaluators are not comparable. An evaluator without log-probabilities states its
probability in one reply, which arithmetic on numbers then checks.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from simulrag.errors import ModelError
from simulrag.models.base import Asker, FirstTokens
from simulrag.models.replies import Reply
from simulrag.records import Record
from simulrag.stand_in import Prompted, finding
from simulrag.task import Task


class Supported(Reply):
    """Reply to ``forms_supported``: the probability that the reference bears the answer out."""

    probability: Annotated[float, Field(strict=True, ge=0, le=1)]


def _one_word(prompted: Prompted) -> object:
    if not prompted.has("reference"):
        return None
    return "refutes" if finding(prompted.text("answer")) == "wrong" else "supports"


FORMS_ENTAIL = Task("forms_entail", tokens=2, stand_in=_one_word)
FORMS_SUPPORTED = Task("forms_supported", Supported, tokens=15)
ALTERNATIVES = 20
"""The most that servers tell the log-probabilities of."""
LABELS = ("supports", "refutes")
TEMPERATURE = 5.0


class Factual(Record):
    """What the evaluator gave for one answer.

    ``p_supports``: of both labels' probability, the share of SUPPORTS, not smoothed; or as stated.
    ``label_mass``: the probability that the first token begins a label; None where stated.
    ``reason``: why there is no value.
    """

    p_supports: float | None = None
    label_mass: float | None = None
    reason: str = ""


def label_masses(tokens: FirstTokens) -> tuple[float, float]:
    """The probabilities of SUPPORTS and of REFUTES: of tokens that begin exactly one of them."""
    masses = [0.0, 0.0]
    for token, logprob in tokens:
        begun = token.strip().casefold()
        fits = [index for index, label in enumerate(LABELS) if begun and label.startswith(begun)]
        if fits:
            masses[fits[0]] += math.exp(logprob)
    return masses[0], masses[1]


def from_tokens(tokens: FirstTokens, min_label_mass: float) -> Factual:
    """The value in a reply's first tokens."""
    if not tokens:
        return Factual(reason="the model's server sent no log-probabilities")
    supports, refutes = label_masses(tokens)
    mass = min(1.0, supports + refutes)
    if mass == 0 or mass < min_label_mass:
        return Factual(label_mass=mass, reason=f"the labels' mass is below {min_label_mass:g}")
    return Factual(p_supports=supports / (supports + refutes), label_mass=mass)


async def judge(
    question: str,
    reference: str,
    answer: str,
    ask: Asker,
    variant: Literal["logprobs", "stated", "off"],
    min_label_mass: float,
) -> Factual:
    """Ask the evaluator about one answer; its failure is a reason and no value."""
    if variant == "off":
        return Factual(reason="not asked for (forms.metrics.factual: off)")
    try:
        if variant == "logprobs":
            told = await ask.ask(FORMS_ENTAIL, reference=reference, answer=answer)
            return from_tokens(told.first_tokens, min_label_mass)
        told = await ask.ask(FORMS_SUPPORTED, question=question, reference=reference, answer=answer)
    except ModelError as error:
        return Factual(reason=str(error))
    return Factual(p_supports=told.parsed.probability)


def smoothed(probability: float, temperature: float = TEMPERATURE) -> float:
    """The logistic of logit(p) / T; 0 and 1 stay. Raises ValueError outside of 0 to 1, or T <= 0.

    Section 3.2; equal to p^(1/T) / (p^(1/T) + (1 - p)^(1/T)).
    """
    if not 0 <= probability <= 1 or not 0 < temperature < math.inf:
        raise ValueError(f"no probability and temperature: {probability}, {temperature}")
    if probability in (0, 1):
        return float(probability)
    return 0.5 + 0.5 * math.tanh(math.log(probability / (1 - probability)) / temperature / 2)
