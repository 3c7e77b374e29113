"""Whether questions are sent to the right source; shown where the stage ``routing`` was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flows.files import record_lines
from flows.hooks import RunOutputs
from flows.report.blocks import DASH, Block, ReportSection, Table, count, interval, why
from flows.report.run import ReportedRun
from rooms.routing.route import NONE, Routed
from rooms.routing.settings import RoutingParams
from rooms.routing.stage import file_of
from simulrag.metrics.intervals import Estimate, mean_estimate
from simulrag.metrics.table import Measurement, filled

KINDS = {
    "all": "all questions",
    "own": "the benchmark's own",
    "none": "of ours, that no source answers",
    "out_of_range": "near misses: one argument just out of range",
    "not_returned": "near misses: not quite what a tool returns",
}
_NOTE = (
    "Every source is asked about in one call, by its handbook. Own questions are right at their "
    "own source, all others at none; partly counts as sent. A model wrote the near misses. "
    "The simulator proves each: it refuses the call for one argument and takes one "
    "inside, or it runs and its outputs are named. Nobody checked that none of them was asked for."
)
READS = ("data/routing",)


@dataclass(frozen=True)
class RoutingScores:
    """Where questions were sent.

    By the names of ``KINDS``, ``accuracy``: the share sent right; ``counts``: of how many;
    ``wrong``: how many were sent wrongly. Own questions are right at their own source, all others
    at none. ``confusion``: by (right, sent) the number of questions. ``failed`` ones count nowhere.
    ``near``: the near misses, to look at.
    """

    accuracy: dict[str, Estimate]
    counts: dict[str, int]
    wrong: dict[str, int]
    confusion: dict[tuple[str, str], int]
    failed: int
    near: tuple[Routed, ...] = ()


def routing_scores(
    questions: Iterable[Routed], *, resamples: int = 1000, seed: int = 0
) -> RoutingScores:
    """Score with 95 % intervals; questions of one scenario are drawn together."""
    every = list(questions)
    sent = [(question, question.route.chosen) for question in every if question.route is not None]
    accuracy, counts, wrong = {}, {}, {}
    for kind in KINDS:
        chosen = [(question, to) for question, to in sent if kind in ("all", question.kind)]
        accuracy[kind] = mean_estimate(
            [question.right == to for question, to in chosen],
            [question.scenario_id for question, _ in chosen],
            resamples=resamples,
            seed=seed,
            stream=kind,
            undefined="no such question",
        )
        counts[kind] = len(chosen)
        wrong[kind] = sum(question.right != to for question, to in chosen)
    confusion = Counter((question.right or NONE, to or NONE) for question, to in sent)
    near = tuple(question for question, _ in sent if question.proof)
    failed = len(every) - len(sent)
    return RoutingScores(accuracy, counts, wrong, dict(sorted(confusion.items())), failed, near)


def read(outs: RunOutputs) -> RoutingScores | None:
    """Score all domains that were routed; files left over from another run are passed over."""
    wanted = outs.params.room(RoutingParams).domains if outs.ours else outs.domains
    paths = [path for name in wanted if (path := file_of(outs.place, name)).is_file()]
    questions = [question for path in paths for question in record_lines(path, Routed)]
    settings = outs.params.metrics
    scores = routing_scores(questions, resamples=settings.bootstrap, seed=settings.seed)
    return scores if questions else None


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Yield accuracy by kind of question, and the confusion."""
    scores: RoutingScores | None = run.rooms.get("routing")
    if scores is None:
        return
    place = Measurement(family="routing", domain="")
    rows = [
        (words, filled(place, scores.accuracy[kind], method=words, n=scores.counts[kind]))
        for kind, words in KINDS.items()
    ]
    failed = [f"{scores.failed} questions failed and count nowhere."] if scores.failed else []
    yield Table(
        name="routing",
        caption="How often a question is sent to the right source",
        columns=("Questions", "Sent right", "Sent wrongly", "Count"),
        rows=tuple(
            (words, interval(row), str(scores.wrong[kind]), count(row.n))
            for kind, (words, row) in zip(KINDS, rows, strict=True)
        ),
        headers=1,
        notes=(_NOTE, *failed, *why([row for _, row in rows])),
    )
    names = list(dict.fromkeys(name for pair in scores.confusion for name in pair))
    yield Table(
        name="routing-confusion",
        caption="What is taken for what: the right source by line, the chosen one by column",
        columns=("Right", *names),
        rows=tuple(
            (right, *(count(scores.confusion.get((right, sent))) or DASH for sent in names))
            for right in names
            if any(right == known for known, _ in scores.confusion)
        ),
        headers=1,
    )
    if scores.near:
        yield Table(
            name="routing-near-misses",
            caption="Near misses, and what the simulator says to them",
            columns=("Question", "Kind", "Shown by", "Sent to"),
            rows=tuple(
                (
                    question.text,
                    KINDS[question.kind],
                    question.proof,
                    (question.route and question.route.chosen) or NONE,
                )
                for question in scores.near
            ),
            prose=(0, 2),
            fold="Near misses",
        )


SECTION = ReportSection("routing", "Whether the right source is chosen", blocks, after="boundary")
