"""What a reader can rely on: how many statements of each standing are true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from simulrag.metrics.domain import DomainData
from simulrag.metrics.intervals import estimate, ratio
from simulrag.metrics.registry import metric
from simulrag.metrics.table import Measurement, filled
from simulrag.records import STANDINGS, LabelValue

_COUNTS: dict[str, LabelValue | None] = {
    "true": "true",
    "false": "false",
    "undecided": "undecided",
    "unlabelled": None,
}


@metric("standings")
def standings(data: DomainData) -> Iterator[Measurement]:
    """Of every line that marks what it says, by standing: statements by label, and ``true_share``.

    ``true_share``: true ones by true and false ones. The label is that of the statement.
    """
    for line in data.lines:
        said = [
            one.texts[line].standings if line in one.texts else Counter() for one in data.counted
        ]
        for standing in STANDINGS:
            keys = [(standing, label) for label in _COUNTS.values()]
            counts = np.array([[counted[key] for key in keys] for counted in said], dtype=float)
            if not counts.any():
                continue
            place = replace(
                Measurement.of(line, "standings", data.domain),
                level=standing,
                n=int(counts.sum()),
            )
            for name, count in zip(_COUNTS, counts.sum(axis=0).tolist(), strict=True):
                yield replace(place, metric=name, value=count)
            true, decided = counts[:, 0], counts[:, :2].sum(axis=1)
            share = ratio(true, decided, data.scenario, data.weights)
            result = estimate(share, data.scenarios, "undefined: none is labelled true or false")
            yield filled(place, result, metric="true_share", n=int(decided.sum()))
