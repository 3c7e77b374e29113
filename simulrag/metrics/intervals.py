"""Bootstrap over scenarios, and Holm's correction.

Questions that share a scenario share a simulator run and often a reference, so they are not
independent: scenarios are drawn, each with all of its questions.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEWEST = 5
"""Answers below which no interval is told: resamples of so few have hardly a spread."""

# Of resamples in which a metric is undefined (one class drawn) this share is borne.
_MIN_DEFINED = 0.5
_LEVELS = (0.025, 0.975)


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval. ``reason`` says why something is missing, or is empty."""

    value: float | None
    lower_95: float | None = None
    upper_95: float | None = None
    reason: str = ""


def scenario_weights(scenarios: int, resamples: int, seed: int, stream: str) -> Floats:
    """Draw scenarios: how often each, (1 + resamples) x scenarios, the first row all ones.

    ``stream`` (a domain's name) makes one seed give every domain draws of its own.
    """
    observed = np.ones((1, scenarios))
    if scenarios == 0:
        return np.ones((1 + resamples, 0))
    generator = np.random.default_rng([seed, zlib.crc32(stream.encode())])
    drawn = generator.multinomial(scenarios, np.full(scenarios, 1 / scenarios), size=resamples)
    return np.concatenate([observed, drawn.astype(float)])


def ratio(top: Floats, bottom: Floats, scenario: Ints, weights: Floats) -> Floats:
    """Divide the sum of ``top`` by that of ``bottom`` in every resample; NaN where that is 0.

    ``top``, ``bottom`` and ``scenario`` (an index) have one entry an item; ``weights`` are
    ``scenario_weights``. With ones for ``bottom`` it is the mean.
    """
    size = weights.shape[1]
    above = weights @ np.bincount(scenario, weights=top, minlength=size)
    below = weights @ np.bincount(scenario, weights=bottom, minlength=size)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Floats = above / below
    return quotient


def estimate(values: Floats, scenarios: int, undefined: str) -> Estimate:
    """Take the percentile interval of ``values``: the observed one first, then the resamples.

    ``undefined`` is the reason given where the observed value is NaN.
    """
    return estimates([values], scenarios, [undefined])[0]


def estimates(rows: Sequence[Floats], scenarios: int, undefined: Sequence[str]) -> list[Estimate]:
    """Take ``estimate`` of several rows of equal length; those without a gap share one sorting."""
    if not rows:
        return []
    table = np.stack(rows)
    finite: NDArray[np.bool_] = np.isfinite(table)
    whole: NDArray[np.bool_] = np.all(finite, axis=1)
    bounds = np.full((2, len(table)), np.nan)
    if scenarios > 1 and whole.any():
        bounds[:, whole] = np.quantile(table[whole, 1:], _LEVELS, axis=1)
    results: list[Estimate] = []
    for index, values in enumerate(table):
        if not finite[index, 0]:
            results.append(Estimate(None, reason=undefined[index]))
            continue
        value = float(values[0])
        if scenarios < 2:
            results.append(Estimate(value, reason="no interval: one scenario only"))
            continue
        if not whole[index]:
            resampled = values[1:][finite[index, 1:]]
            if len(resampled) < _MIN_DEFINED * (len(values) - 1):
                reason = "no interval: undefined in most resamples"
                results.append(Estimate(value, reason=reason))
                continue
            bounds[:, index] = np.quantile(resampled, _LEVELS)
        results.append(Estimate(value, float(bounds[0, index]), float(bounds[1, index])))
    return results


def told_of_enough(result: Estimate, answers: int) -> Estimate:
    """Leave out the interval where it would rest on fewer than ``FEWEST`` answers."""
    if answers >= FEWEST or result.value is None:
        return result
    reason = result.reason or f"no interval: fewer than {FEWEST} answers"
    return replace(result, lower_95=None, upper_95=None, reason=reason)


def mean_estimate(
    values: Sequence[float],
    scenarios: Sequence[str],
    *,
    resamples: int,
    seed: int,
    stream: str = "",
    undefined: str,
) -> Estimate:
    """Estimate the mean of values, each with its scenario's name, and its interval."""
    names = {name: place for place, name in enumerate(dict.fromkeys(scenarios))}
    weights = scenario_weights(len(names), resamples, seed, stream)
    index = np.array([names[name] for name in scenarios], dtype=np.int64)
    quotient = ratio(np.array(values, dtype=float), np.ones(len(values)), index, weights)
    return estimate(quotient, len(names), undefined)


def relative_gain(ours: Floats, theirs: Floats) -> Floats:
    """Compute by how many percent of theirs ours is larger, a resample each; NaN: theirs is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = 100 * (ours - theirs) / theirs
    return np.where(np.isfinite(gain), gain, np.nan)


def two_sided_p(differences: Floats, pairs: int | None = None) -> float | None:
    """Compute the bootstrap p of 'no difference': observed first, then resamples; None: undefined.

    Twice the smaller share of resamples on either side of 0, never below 2 / (resamples + 1), nor
    below 2 / 2^n with n ``pairs``, the least that a test by signs can give: resamples of two or
    three scenarios that agree have no spread.
    """
    resampled = differences[1:][np.isfinite(differences[1:])]
    if not np.isfinite(differences[0]) or len(resampled) < _MIN_DEFINED * (len(differences) - 1):
        return None
    below = 1 + int((resampled <= 0).sum())
    above = 1 + int((resampled >= 0).sum())
    least = 0.0 if pairs is None else 2.0 ** (1 - pairs)
    return min(1.0, max(least, 2 * min(below, above) / (len(resampled) + 1)))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust the defined p values by Holm's step-down method, in the order given.

    Five lines rather than ``statsmodels.stats.multitest``, which takes 1.5 s to import; a test
    holds the two equal.
    """
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, index) in enumerate(known):
        running = max(running, min(1.0, p * (len(known) - rank)))
        adjusted[index] = running
    return adjusted
