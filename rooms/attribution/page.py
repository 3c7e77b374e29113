"""Which evidence the claims stand on, as the report and ``simulrag ask --why`` show it.

The section is there where the stage ``attribution`` was run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from flows.files import record_lines
from flows.hooks import RunOutputs
from flows.report.blocks import DASH, Block, ReportSection, Table, Text, count, interval, percent
from flows.report.run import DomainTable, LabelTable, ReportedRun
from rooms.attribution.game import Support
from rooms.attribution.records import Attribution, file_of, planted_table, table_of
from rooms.attribution.settings import AttributionParams
from simulrag.metrics.table import Measurement, read_table, rows_of

if TYPE_CHECKING:
    from flows.params import Params
    from flows.project import Project
    from simulrag.records import Answer


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
    "shapley": "the item's Shapley value among all items of its question",
}
ABOUT = (
    "What a reader is shown of a statement is the audit's runs. Here a model states the chance of "
    "the same statements with and without the evidence, and nobody sees the audit: a check of it, "
    "and where there are several sources, what each adds. That a statement stands on the simulator "
    "does not say that it is true."
)
READS = ("data/attribution", "data/metrics")


@dataclass(frozen=True)
class Attributed:
    """Which evidence the claims of a domain stand on, counted.

    ``claims``: by class (None: failed), how many, and how many of those are labelled true and
    false. ``measured``, ``planted``: the rows of both stages' tables.
    """

    estimator: str
    chances: str
    threshold: float
    sources: tuple[str, ...]
    questions: int
    failed: int
    claims: Mapping[Support | None, tuple[int, int, int]]
    measured: Sequence[Measurement] = ()
    planted: Sequence[Measurement] = ()

    def row(self, metric: str, **where: str) -> Measurement | None:
        """Return the row of a metric, of this level, tool or standing."""
        rows = (row for row in self.measured if row.metric == metric)
        return next((r for r in rows if all(r.get(k) == v for k, v in where.items())), None)

    @property
    def standings(self) -> list[str]:
        """The audit's standings of the statements, if it is these that were held."""
        return [row.text("standing") for row in self.measured if row.metric == "agrees"]


def read(outs: RunOutputs) -> dict[str, Attributed]:
    """Read the domains that were asked for; files left over from another run are passed over."""
    settings = outs.params.room(AttributionParams)
    wanted = settings.domains if outs.ours else outs.domains

    def rows(family: str, domain: str, path: Path) -> Sequence[Measurement]:
        return (
            DomainTable.of(domain, rows_of(read_table(path))).rows(family) if path.is_file() else ()
        )

    return {
        name: replace(
            counted(record_lines(path, Attribution), outs.labels[name], settings.threshold),
            measured=rows("attribution", name, table_of(outs.place, name)),
            planted=rows("planted", name, planted_table(outs.place, name)),
        )
        for name in outs.domains
        if name in wanted and (path := file_of(outs.place, name)).is_file()
    }


def counted(
    attributions: Iterable[Attribution], labels: LabelTable, threshold: float
) -> Attributed:
    """Count the classes of a domain's claims, its questions gone through once."""
    claims: Counter[Support | None] = Counter()
    judged: Counter[tuple[Support | None, str]] = Counter()
    sources: dict[str, None] = {}
    names, questions, failed = ("by_source", "verdicts"), 0, 0
    for attribution in attributions:
        names = (attribution.estimator, attribution.chances)
        questions += 1
        failed += attribution.failure is not None
        sources.update(dict.fromkeys(attribution.sources))
        labelled = labels.of(attribution.question_id)
        for claim in attribution.claims:
            claims[claim.support] += 1
            if claim.claim_hash in labelled:
                judged[claim.support, labelled[claim.claim_hash].label] += 1
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
    )


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Yield a domain's classes and, with an estimator of items, values; nothing where not run."""
    by_domain: Mapping[str, Attributed] = run.rooms.get("attribution", {})
    if any(attributed.standings for attributed in by_domain.values()):
        yield Text(ABOUT)
    for domain, attributed in by_domain.items():
        if attributed.standings:
            yield _standings(domain, attributed)
        yield _classes(domain, attributed)
        if tools := [row.text("tool") for row in attributed.measured if row.metric == "item_value"]:
            yield _items(domain, attributed, tools)
        if attributed.planted:
            yield _planted(domain, attributed.planted)


def _standings(domain: str, attributed: Attributed) -> Table:
    """Show what the audit said of the statements beside what chances say they stand on."""
    shown = [name for name in get_args(Support) if attributed.claims.get(name)]
    rows = []
    for standing in attributed.standings:
        agrees = attributed.row("agrees", standing=standing)
        adds = attributed.row("gain", level="simulator", standing=standing)
        on = (attributed.row("stands_on", level=name, standing=standing) for name in shown)
        shares = (percent(row.value if row else None) for row in on)
        cells = (interval(adds, signed=True), *shares, interval(agrees))
        rows.append((standing, count(agrees.n if agrees else None), *cells))
    return Table(
        name="attribution-standings",
        caption=f"{domain}: the audit's standing of statements, and what chances say of them",
        columns=("Audit", "Statements", "The simulator adds", *shown, "Agree"),
        rows=tuple(rows),
        headers=1,
        notes=(
            "Agree: checked and added with a source that supports, corrected and wrong with one "
            "against, the others with neither. Corrected ones are held as they were drafted.",
        ),
        domain=domain,
    )


def _classes(domain: str, attributed: Attributed) -> Table:
    total = sum(number for number, _, _ in attributed.claims.values())
    rows = []
    for name in (*get_args(Support), None):
        number, true, false = attributed.claims.get(name, (0, 0, 0))
        if name is None and not number:
            continue
        cells = (count(number), percent(number / total if total else None))
        of = true + false
        rows.append((name or "failed", *cells, percent(true / of if of else None), count(of)))
    lost = (
        f" {attributed.failed} of {attributed.questions} questions failed."
        if attributed.failed
        else ""
    )
    return Table(
        name="attribution",
        caption=f"{domain}: what {total} claims of {attributed.questions} questions stand on",
        columns=("Stands on", "Claims", "Share", "True of those judged", "Judged"),
        rows=tuple(rows),
        headers=1,
        notes=(
            f"Evidence of: {', '.join(attributed.sources) or DASH}.{lost}",
            *_shares(attributed),
            _CHANCES[attributed.chances],
            _NOTE.format(threshold=attributed.threshold),
        ),
        domain=domain,
    )


def _shares(attributed: Attributed) -> Iterator[str]:
    for row in attributed.measured:
        if row.metric == "gain" and not row.text("standing"):
            adds = f"{row.level} add{'s' * (row.level == 'simulator')}"
            yield f"To a claim's chance the {adds} {interval(row, signed=True)} on average."


def _items(domain: str, attributed: Attributed, tools: Sequence[str]) -> Table:
    rows = []
    for tool in tools:
        value, left_out, supports = (
            attributed.row(f"item_{name}", tool=tool) for name in ("value", "left_out", "supports")
        )
        cells = [interval(row, signed=True) for row in (value, left_out)]
        share = percent(supports.value if supports else None)
        rows.append((tool, *cells, share, count(value.n if value else None)))
    return Table(
        name="attribution-items",
        caption=f"{domain}: values of items ({attributed.estimator}), an item and a claim each",
        columns=("Tool", "Mean value", "Left out", "Supporting", "Values"),
        rows=tuple(rows),
        headers=1,
        notes=(f"A value is {_ITEMS[attributed.estimator]}. Left out: {_ITEMS['leave_one_out']}.",),
        domain=domain,
    )


def _planted(domain: str, rows: Sequence[Measurement]) -> Table:
    """Show whether the share falls to the passage that decides, among other questions'."""
    by_name = {row.metric: row for row in rows}
    first = by_name["largest_is_planted"]
    means = (interval(by_name[name], signed=True) for name in ("all_adds", "planted", "another"))
    return Table(
        name="attribution-planted",
        caption=f"{domain}: decisive evidence planted among that of four other questions",
        columns=("Claims", "All evidence adds", "The planted one", "Another", "Largest is planted"),
        rows=((count(first.n), *means, percent(first.value)),),
        headers=1,
        notes=(
            "Means of what a claim's chance loses where the passage is left out."
            f" Of the questions {percent(first.coverage)} could be asked.",
        ),
        domain=domain,
    )


SECTION = ReportSection(
    "attribution", "Which evidence supports the claims", blocks, after="boundary"
)


@dataclass(frozen=True)
class Why:
    """What the claims of an answer stand on, to show."""

    attribution: Attribution

    def as_json(self) -> list[dict[str, Any]]:
        """Return one object a claim, in the order of the answer's claims."""
        fields = {"text", "support", "shares", "conditions", "failure"}
        return [claim.model_dump(mode="json", include=fields) for claim in self.attribution.claims]

    def show(self) -> None:
        """Print the class of each claim, as it was drafted, and what each source adds."""
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table("claim, as drafted", "stands on", "simulator", "documents", title="Why")
        for claim in self.attribution.claims:
            simulator, documents = "-", "-"
            if claim.shares is not None:
                simulator = f"{claim.shares.simulator:+.2f}"
                documents = f"{claim.shares.documents:+.2f}"
            support = claim.support or f"failed: {claim.failure}"
            table.add_row(Text(claim.text), support, simulator, documents)
        console = Console(highlight=False)
        console.print(table)
        console.print(
            "What each source adds to the chance that the draft of a claim holds, from -1 to 1; "
            "'against': the evidence speaks against the draft.",
            style="dim",
        )


def why(project: Project, params: Params, question: str, answer: Answer) -> Why:
    """Attribute by source and by verdicts, which were paid for, whatever params.yaml names.

    Raises ModelError where a call failed.
    """
    import asyncio

    from flows.running.bench import open_bench
    from rooms.attribution.attribute import attribute
    from rooms.attribution.settings import AttributionParams
    from simulrag.errors import ModelError

    how = {"estimator": "by_source", "chances": "verdicts"}
    settings = params.room(AttributionParams).model_copy(update=how)

    async def found() -> Attribution:
        async with open_bench(project, params, "ask", "answer") as bench:
            return await attribute(question, answer, bench.gateway, settings)

    result = asyncio.run(found())
    if result.failure is not None:
        raise ModelError(f"step attribution: {result.failure}")
    return Why(result)
