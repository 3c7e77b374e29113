"""What attribution found, as records and as rows of the long table.

Families ``attribution`` (``level``: a class of claims or a source; ``tool``: of the items) and
``planted``. Intervals draw scenarios; ``n`` counts claims, or an item and a claim each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, get_args

from pydantic import Field

from rooms.attribution.game import FourChances, Shares, Support
from rooms.attribution.settings import Estimator
from simulrag.metrics.intervals import mean_estimate, told_of_enough
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import Measurement, filled
from simulrag.records import STANDINGS, Domain, Record, Standing, Usage, since

if TYPE_CHECKING:
    from flows.project import Results


class ItemValue(Record):
    """What one item does for a claim. ``value`` None: see ``failure``.

    ``left_out``: beside a Shapley value, all evidence less all but the item, where it was asked.
    """

    item: str
    value: float | None
    standard_error: float = 0.0
    left_out: float | None = None
    failure: str | None = None


class ClaimSupport(Record):
    """What one claim, as it was drafted, stands on. ``standing``: the audit's, of a statement.

    ``support`` None: a condition has no value, for the reason in ``failure``. ``conditions`` None
    with a ``support``: there was no evidence, so nothing supports it and nothing was asked.
    """

    claim_hash: str
    text: str
    support: Support | None
    conditions: FourChances | None = None
    shares: Shares | None = None
    items: tuple[ItemValue, ...] = ()
    failure: str | None = None
    standing: Standing | None = since(None)


class Attribution(Record):
    """What the claims of one question stand on. ``estimator``: whose values the items have."""

    question_id: str
    domain: Domain
    estimator: Estimator
    chances: str
    claims: tuple[ClaimSupport, ...] = ()
    sources: tuple[str, ...] = ()
    usage: dict[str, Usage] = Field(default={})
    failure: str | None = None


class PlantedClaim(Record):
    """One claim's chance with no passage and with all, and what leaving out each of them costs."""

    text: str
    none: float
    all: float
    left_out: tuple[float, ...]


class Planted(Record):
    """What was found for one question. ``place``: of the decisive passage, from 0."""

    question_id: str
    scenario_id: str
    place: int
    claims: tuple[PlantedClaim, ...] = ()
    failure: str | None = None

    @property
    def largest(self) -> list[bool]:
        """By claim: whether the decisive passage is the one that costs most to leave out."""
        costs = [claim.left_out for claim in self.claims]
        return [max(some) > 0 and some.index(max(some)) == self.place for some in costs]


def planted_file(place: Results, domain: str) -> Path:
    """Return the file that says whether shares fell to what was planted."""
    return place.data / "attribution" / f"{domain}-planted.jsonl"


def file_of(place: Results, domain: str) -> Path:
    """Return the file that says what the claims of a domain's answers stand on."""
    return place.data / "attribution" / f"{domain}.jsonl"


AGREES: Mapping[Standing, tuple[Support, ...]] = {
    **dict.fromkeys(("checked", "added"), ("simulator", "documents", "both")),
    **dict.fromkeys(("corrected", "wrong"), ("against",)),
    **dict.fromkeys(("judgement", "not_run", "beyond"), ("neither",)),
}
"""By standing, what a statement as it was drafted stands on where chances say as the audit does."""

Valued = Sequence[tuple[str, float]]
"""Values, each with its scenario."""


def table_of(place: Results, domain: str) -> Path:
    """Return the table of what the claims of a domain's answers stand on."""
    return place.metrics / f"attribution-{domain}.csv"


def planted_table(place: Results, domain: str) -> Path:
    """Return the table of whether shares fell to what was planted."""
    return place.metrics / f"planted-{domain}.csv"


def attribution_rows(
    attributions: Iterable[Attribution],
    scenarios: Mapping[str, str],
    threshold: float,
    settings: MetricSettings,
    domain: str,
) -> Iterator[Measurement]:
    """Yield ``stands_on``: the share of claims a class; ``gain``: what a source adds to a chance.

    Of statements by ``standing`` the same two, and ``agrees``: the share that stands as the audit
    says.
    Of items by tool: ``item_value``, ``item_left_out`` (beside a Shapley value) and
    ``item_supports``, the share with a value of at least ``threshold``. ``scenarios`` by question.
    """
    claims = [
        (scenarios[attribution.question_id], claim)
        for attribution in attributions
        for claim in attribution.claims
    ]
    known = [(scenario, claim.support) for scenario, claim in claims if claim.support is not None]

    def row(metric: str, values: Valued, of: int, *, level: str = "", **more: str) -> Measurement:
        place = Measurement(
            family="attribution", domain=domain, metric=metric, level=level, more=more
        )
        return _measured(place, values, of, settings)

    for name in get_args(Support):
        values = [(scenario, float(support == name)) for scenario, support in known]
        yield row("stands_on", values, len(claims), level=name)
    for name in Shares.model_fields:
        values = [
            (scenario, getattr(claim.shares, name))
            for scenario, claim in claims
            if claim.shares is not None
        ]
        yield row("gain", values, len(claims), level=name)
    for standing in STANDINGS:
        of = [(scenario, claim) for scenario, claim in claims if claim.standing == standing]
        stood = [(s, claim.support, claim.shares) for s, claim in of if claim.support is not None]
        if not of:
            continue
        for name in get_args(Support):
            values = [(scenario, float(support == name)) for scenario, support, _ in stood]
            yield row("stands_on", values, len(of), level=name, standing=standing)
        for name in Shares.model_fields:
            values = [(s, getattr(shares, name)) for s, _, shares in stood if shares is not None]
            yield row("gain", values, len(of), level=name, standing=standing)
        values = [(scenario, float(support in AGREES[standing])) for scenario, support, _ in stood]
        yield row("agrees", values, len(of), standing=standing)
    items: dict[str, list[tuple[str, ItemValue]]] = {}
    for scenario, item in ((at, item) for at, claim in claims for item in claim.items):
        items.setdefault(item.item.partition("#")[0], []).append((scenario, item))
    for tool, own in sorted(items.items()):
        values = [(scenario, item.value) for scenario, item in own if item.value is not None]
        yield row("item_value", values, len(own), tool=tool)
        left_out = [
            (scenario, item.left_out) for scenario, item in own if item.left_out is not None
        ]
        if left_out:
            yield row("item_left_out", left_out, len(own), tool=tool)
        supports = [(scenario, float(value >= threshold)) for scenario, value in values]
        yield row("item_supports", supports, len(own), tool=tool)


def planted_rows(
    results: Sequence[Planted], settings: MetricSettings, domain: str
) -> Iterator[Measurement]:
    """Yield the measures of planted evidence.

    ``all_adds``: what all evidence adds to a claim's chance; ``planted``, ``another``: what is lost
    where that passage is left out; ``largest_is_planted``: the share of claims.
    """
    values: dict[str, list[tuple[str, float]]] = {
        name: [] for name in ("all_adds", "planted", "another", "largest_is_planted")
    }
    for result in results:
        for claim, largest in zip(result.claims, result.largest, strict=True):
            others = [cost for at, cost in enumerate(claim.left_out) if at != result.place]
            measured = {
                "all_adds": claim.all - claim.none,
                "planted": claim.left_out[result.place],
                "largest_is_planted": float(largest),
            }
            measured |= {"another": fmean(others)} if others else {}
            for name, value in measured.items():
                values[name].append((result.scenario_id, value))
    answered = sum(result.failure is None for result in results) / len(results) if results else None
    for name, own in values.items():
        place = Measurement(family="planted", domain=domain, metric=name, coverage=answered)
        yield _measured(place, own, None, settings)


def _measured(
    place: Measurement, values: Valued, of: int | None, settings: MetricSettings
) -> Measurement:
    mean = mean_estimate(
        [value for _, value in values],
        [scenario for scenario, _ in values],
        resamples=settings.bootstrap,
        seed=settings.seed,
        undefined="no claim has it",
    )
    coverage = place.coverage if of is None else len(values) / of if of else None
    mean = told_of_enough(mean, len({scenario for scenario, _ in values}))
    return filled(place, mean, n=len(values), coverage=coverage)
