"""Whether questions are sent to the right source; shown where the stage ``routing`` was run."""

from __future__ import annotations

from collections.abc import Iterator

from flows.files import record_lines
from flows.outs import Outs
from simulrag.metrics.table import Measurement, filled
from simulrag.report.blocks import DASH, Block, Section, Table, count, interval, why
from simulrag.report.run import Run
from simulrag.rooms.routing.accuracy import KINDS, RoutingScores, routing_scores
from simulrag.rooms.routing.records import Routed, file_of
from simulrag.rooms.routing.settings import RoutingParams

_NOTE = (
    "Every source is asked about in one call, by its handbook. Own questions are right at their "
    "own source, all others at none; partly counts as sent. Nobody checked the near misses."
)


READS = ("data/routing",)


def read(outs: Outs) -> RoutingScores | None:
    """Over all domains that were routed; files left over from another run are passed over."""
    wanted = outs.params.room(RoutingParams).domains if outs.ours else outs.domains
    paths = [path for name in wanted if (path := file_of(outs.place, name)).is_file()]
    found = [one for path in paths for one in record_lines(path, Routed)]
    settings = outs.params.metrics
    scores = routing_scores(found, resamples=settings.bootstrap, seed=settings.seed)
    return scores if found else None


def blocks(run: Run) -> Iterator[Block]:
    """Accuracy by kind of question, and the confusion."""
    found: RoutingScores | None = run.rooms.get("routing")
    if found is None:
        return
    place = Measurement(family="routing", domain="")
    rows = [
        (words, filled(place, found.accuracy[kind], method=words, n=found.counts[kind]))
        for kind, words in KINDS.items()
    ]
    failed = [f"{found.failed} questions failed and count nowhere."] if found.failed else []
    yield Table(
        name="routing",
        caption="How often a question is sent to the right source",
        columns=("Questions", "Sent right", "Count"),
        rows=tuple((words, interval(row), count(row.n)) for words, row in rows),
        headers=1,
        notes=(_NOTE, *failed, *why([row for _, row in rows])),
    )
    names = list(dict.fromkeys(name for pair in found.confusion for name in pair))
    yield Table(
        name="routing-confusion",
        caption="What is taken for what: the right source by line, the chosen one by column",
        columns=("Right", *names),
        rows=tuple(
            (right, *(count(found.confusion.get((right, sent))) or DASH for sent in names))
            for right in names
            if any(right == one for one, _ in found.confusion)
        ),
        headers=1,
    )


SECTION = Section("routing", "Whether the right source is chosen", blocks, after="boundary")
