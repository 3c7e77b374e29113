"""What boundary assessment filtered."""

from __future__ import annotations

from collections.abc import Iterator

from simulrag.metrics.domain import DomainData
from simulrag.metrics.intervals import estimate, ratio
from simulrag.metrics.pool import PARTLY_VERIFIED
from simulrag.metrics.registry import metric
from simulrag.metrics.selections import NO_BOUNDARY
from simulrag.metrics.table import Measurement, filled


@metric("boundary")
def boundary(data: DomainData) -> Iterator[Measurement]:
    """How well the simulator boundary foresees what verification can decide.

    ``filtered``: claims judged outside the boundary, of all claims asked. ``kept_decided``: claims
    inside it that verification decided, of those verified. ``filtered_decidable``: claims outside
    it that verification decided all the same: what the filter lost. The latter two are undefined
    where verification saw only selected claims: the least confident do not stand for all.
    """
    if not data.ranks_claims:
        return
    pool = data.pool
    place = Measurement(family="boundary", domain=data.domain, coverage=data.coverage)
    inside, outside = pool.boundary == 1, pool.boundary == 0
    asked = inside | outside
    verified = pool.verified & (not pool.partly_verified)
    no_inside, no_outside = "no claim inside was verified", "no claim outside was verified"
    if pool.partly_verified:
        no_inside = no_outside = PARTLY_VERIFIED
    for name, part, whole, reason in (
        ("filtered", outside, asked, NO_BOUNDARY),
        ("kept_decided", pool.decided, inside & verified, no_inside),
        ("filtered_decidable", pool.decided, outside & verified, no_outside),
    ):
        top, bottom = (part & whole).astype(float), whole.astype(float)
        values = ratio(top, bottom, pool.scenario, data.weights)
        result = estimate(values, data.scenarios, reason)
        yield filled(place, result, metric=name, n=int(whole.sum()))
