"""Factual accuracy: the evaluator's share of SUPPORTS, smoothed (ClimaQA, arXiv 2410.16701).

What it gives depends on how saturated the evaluator's probabilities are, so values of two
evaluators are not comparable.
"""

from __future__ import annotations

import math

TEMPERATURE = 5.0


def smoothed(probability: float, temperature: float = TEMPERATURE) -> float:
    """The logistic of logit(p) / T; 0 and 1 stay. Raises ValueError outside of 0 to 1, or T <= 0.

    Section 3.2; equal to p^(1/T) / (p^(1/T) + (1 - p)^(1/T)).
    """
    if not 0 <= probability <= 1 or not 0 < temperature < math.inf:
        raise ValueError(f"no probability and temperature: {probability}, {temperature}")
    if probability in (0, 1):
        return float(probability)
    return 0.5 + 0.5 * math.tanh(math.log(probability / (1 - probability)) / temperature / 2)
