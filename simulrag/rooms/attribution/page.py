"""Which evidence the claims stand on; shown where the stage ``attribution`` was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from flows.files import record_lines
from flows.outs import Outs
from simulrag.metrics.intervals import Estimate, mean_estimate
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import Measurement, filled
from simulrag.report.blocks import DASH, Block, ReportSection, Table, count, interval, percent
from simulrag.report.labels import LabelTable
from simulrag.report.run import ReportedRun
from simulrag.rooms.attribution.planted import Planted
from simulrag.rooms.attribution.records import Attribution, file_of, planted_file
from simulrag.rooms.attribution.settings import AttributionParams
from simulrag.rooms.attribution.sources import Shares, Support

_CHANCES = {
    "verdicts": "Chances are by verdicts of the verification step: aligned 1, contradicted 0, "
    "silent 0.5. A source's share is then at most 0.5.",
    "stated": "Chances are stated by the answering model with that part of the evidence in sight.",
}
_NOTE = (
    "Claims are held against the evidence as they were drafted. A source supports a claim from a "
    "share of {threshold:g} and speaks against it from -{threshold:g}; 'against' goes first."
)
_ITEMS = {
    "leave_one_out": "all evidence less all but the item; items that say the same get 0",
    "alone": "the item by itself less no evidence",
    "shapley": "the item's Shapley value among all items of its question",
    "rerun": "the run less the same run with its tool's defaults, which was really made",
}
READS = ("data/attribution",)


@dataclass(frozen=True)
class Attributed:
    """Which evidence the claims of a domain stand on, counted.

    ``claims``: by class (None: failed), how many, and how many of those are labelled true and
    false. ``shares``: what each source adds to a claim's chance, the mean. ``items``: by tool, the
    values of its items (None: failed); ``left_out``: the same beside a Shapley value, where it was
    asked. ``planted``: what was found where decisive evidence stood among that of others.
    """

    estimator: str
    chances: str
    threshold: float
    sources: tuple[str, ...]
    questions: int
    failed: int
    claims: Mapping[Support | None, tuple[int, int, int]]
    shares: Mapping[str, Estimate] = field(default_factory=dict)
    items: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    left_out: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    planted: tuple[Planted, ...] = ()


def read(outs: Outs) -> dict[str, Attributed]:
    """Of the domains that have it; a file left over from a run that asked for it is passed over."""
    settings = outs.params.room(AttributionParams)
    wanted = settings.domains if outs.ours else outs.domains
    found = {
        name: counted(
            record_lines(path, Attribution),
            outs.labels[name],
            settings.threshold,
            {one.question_id: one.scenario_id for one in outs.questions[name].values()},
            outs.params.metrics,
        )
        for name in outs.domains
        if name in wanted and (path := file_of(outs.place, name)).is_file()
    }
    return {
        name: replace(one, planted=tuple(record_lines(path, Planted)))
        if (path := planted_file(outs.place, name)).is_file()
        else one
        for name, one in found.items()
    }


def counted(
    found: Iterable[Attribution],
    labels: LabelTable,
    threshold: float,
    scenarios: Mapping[str, str],
    settings: MetricSettings,
) -> Attributed:
    """The counts of a domain, its questions gone through once; ``scenarios`` by question."""
    claims: Counter[Support | None] = Counter()
    judged: Counter[tuple[Support | None, str]] = Counter()
    items: dict[str, list[float | None]] = {}
    left_out: dict[str, list[float]] = {}
    sources: dict[str, None] = {}
    shares: list[tuple[str, Shares]] = []
    names, questions, failed = ("by_source", "verdicts"), 0, 0
    for one in found:
        names = (one.estimator, one.chances)
        questions += 1
        failed += one.failure is not None
        sources.update(dict.fromkeys(one.sources))
        said = labels.of(one.question_id)
        for claim in one.claims:
            claims[claim.support] += 1
            if claim.shares is not None:
                shares.append((scenarios.get(one.question_id, one.question_id), claim.shares))
            if claim.claim_hash in said:
                judged[claim.support, said[claim.claim_hash].label] += 1
        for item in (item for claim in one.claims for item in claim.items):
            tool = item.item.partition("#")[0]
            items.setdefault(tool, []).append(item.value)
            if item.left_out is not None:
                left_out.setdefault(tool, []).append(item.left_out)
    return Attributed(
        estimator=names[0],
        chances=names[1],
        threshold=threshold,
        sources=tuple(sources),
        questions=questions,
        failed=failed,
        claims={
            name: (number, judged[name, "true"], judged[name, "false"])
            for name, number in claims.items()
        },
        shares={
            name: mean_estimate(
                [getattr(share, name) for _, share in shares],
                [scenario for scenario, _ in shares],
                resamples=settings.bootstrap,
                seed=settings.seed,
                undefined="no claim has shares",
            )
            for name in Shares.model_fields
        },
        items={tool: tuple(values) for tool, values in sorted(items.items())},
        left_out={tool: tuple(values) for tool, values in left_out.items()},
    )


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Classes a domain and, with an estimator of items, their values; nothing where not run."""
    by_domain: Mapping[str, Attributed] = run.rooms.get("attribution", {})
    for domain, found in by_domain.items():
        yield _classes(domain, found)
        if found.items:
            yield _items(domain, found)
        if found.planted:
            yield _planted(domain, found.planted)


def _classes(domain: str, found: Attributed) -> Table:
    total = sum(number for number, _, _ in found.claims.values())
    rows = []
    for name in (*get_args(Support), None):
        number, true, false = found.claims.get(name, (0, 0, 0))
        if name is None and not number:
            continue
        cells = (count(number), percent(number / total if total else None))
        of = true + false
        rows.append((name or "failed", *cells, percent(true / of if of else None), count(of)))
    lost = f" {found.failed} of {found.questions} questions failed." if found.failed else ""
    return Table(
        name="attribution",
        caption=f"{domain}: what {total} claims of {found.questions} questions stand on",
        columns=("Stands on", "Claims", "Share", "True of those judged", "Judged"),
        rows=tuple(rows),
        headers=1,
        notes=(
            f"Evidence of: {', '.join(found.sources) or DASH}.{lost}",
            *_shares(found, domain),
            _CHANCES[found.chances],
            _NOTE.format(threshold=found.threshold),
        ),
        domain=domain,
    )


def _shares(found: Attributed, domain: str) -> Iterator[str]:
    place = Measurement(family="attribution", domain=domain)
    for name, share in found.shares.items():
        said = interval(filled(place, share), signed=True)
        yield f"To a claim's chance the {name} add{'s' * (name == 'simulator')} {said} on average."


def _items(domain: str, found: Attributed) -> Table:
    rows = []
    for tool, values in found.items.items():
        known = [value for value in values if value is not None]
        mean = f"{sum(known) / len(known):+.3f}" if known else DASH
        least = sum(value >= found.threshold for value in known)
        share = percent(least / len(known) if known else None)
        without = found.left_out.get(tool, ())
        left = f"{sum(without) / len(without):+.3f}" if without else DASH
        rows.append((tool, mean, left, share, count(len(known)), count(len(values) - len(known))))
    return Table(
        name="attribution-items",
        caption=f"{domain}: values of items ({found.estimator}), an item and a claim each",
        columns=("Tool", "Mean value", "Left out", "Supporting", "Values", "Failed"),
        rows=tuple(rows),
        headers=1,
        notes=(f"A value is {_ITEMS[found.estimator]}. Left out: {_ITEMS['leave_one_out']}.",),
        domain=domain,
    )


def _planted(domain: str, found: Sequence[Planted]) -> Table:
    """Whether the share falls to the passage that decides, among those of other questions."""
    claims = [(one.place, claim) for one in found for claim in one.claims]
    mine = [claim.left_out[place] for place, claim in claims]
    others = [
        share for place, claim in claims for at, share in enumerate(claim.left_out) if at != place
    ]
    first = sum(sum(one.largest) for one in found)
    added = [claim.all - claim.none for _, claim in claims]
    means = (f"{sum(some) / len(some):+.2f}" if some else DASH for some in (added, mine, others))
    failed = sum(one.failure is not None for one in found)
    return Table(
        name="attribution-planted",
        caption=f"{domain}: decisive evidence planted among that of four other questions",
        columns=("Claims", "All evidence adds", "The planted one", "Another", "Largest is planted"),
        rows=((count(len(claims)), *means, percent(first / len(claims) if claims else None)),),
        headers=1,
        notes=(
            "Means of what a claim's chance loses where the passage is left out."
            + (f" {failed} of {len(found)} questions failed." if failed else ""),
        ),
        domain=domain,
    )


SECTION = ReportSection(
    "attribution", "Which evidence supports the claims", blocks, after="boundary"
)
