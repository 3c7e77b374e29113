"""One method minus another on the same resamples, with Holm's correction over a metric's pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from simulrag.metrics.intervals import Floats, estimates, holm, relative_gain, two_sided_p
from simulrag.metrics.table import Measurement, filled


@dataclass(frozen=True)
class Pair:
    """Two methods' metrics, a value a resample, and the row that names both.

    ``reason``: why one of the two cannot be measured.
    """

    row: Measurement
    ours: Mapping[str, Floats]
    theirs: Mapping[str, Floats]
    reason: str = ""


def compared(
    pairs: Sequence[Pair], metrics: Sequence[str], scenarios: int
) -> Iterator[Measurement]:
    """For every metric and pair the difference, and by how many percent ours is larger."""
    for metric in metrics:
        gaps = [pair.ours[metric] - pair.theirs[metric] for pair in pairs]
        gains = [relative_gain(pair.ours[metric], pair.theirs[metric]) for pair in pairs]
        raw = [two_sided_p(gap) if scenarios > 1 else None for gap in gaps]
        reasons = [pair.reason or "undefined for one of the two" for pair in pairs]
        found = estimates([*gaps, *gains], scenarios, [*reasons, *reasons])
        for index, (pair, adjusted) in enumerate(zip(pairs, holm(raw), strict=True)):
            place = replace(pair.row, metric=metric)
            tested = {"unit": "difference", "p": raw[index], "p_holm": adjusted}
            yield filled(place, found[index], **tested)
            yield filled(place, found[index + len(pairs)], unit="percent")
