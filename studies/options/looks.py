"""``python -m studies.options.looks FOLDER``: what a second look finds.

FOLDER is the ``data`` of the recorded run. Its published climate questions, whose evidence is the
published one, are looked up with the live simulator; and of ``NARROWED`` own questions with two
runs the second is taken away, what is left is verified anew, and the simulator is asked again.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from flows.files import read_records
from flows.params import open_project
from flows.project import Results
from flows.running.bench import Bench
from simulrag.method.settings import MethodSettings
from simulrag.method.steps import Work, look_again, verify
from simulrag.questions.published import AnsweredQuestion, answered_questions, read_questions
from simulrag.records import DECIDED, Answer, Claim, Question
from studies.options.benches import over

NARROWED = {"urban": 3, "climate": 6, "epidemiology": 6}
"""Questions by domain; urban has three with two runs."""
Looked = tuple[Answer, Answer, Answer]
"""As recorded, with the first evidence alone, and after the second look."""


async def again(bench: Bench, question: Question, thin: Answer, settings: MethodSettings) -> Answer:
    """The answer after a second look."""
    work = Work(question, bench.instruments, thin.model_copy(update={"usage": {}}))
    with work.ending():
        await look_again(work, range(len(thin.claims)), settings)
    return _whole(work)


async def narrowed(
    bench: Bench, question: Question, answer: Answer, settings: MethodSettings
) -> Answer:
    """The answer by its first run alone: what is within the boundary is verified anew."""
    bare = [claim.model_copy(update={"verdict": None}) for claim in answer.claims]
    if answer.retrieval is None:
        raise LookupError(f"{question.question_id} has no evidence to narrow")
    first = answer.retrieval.model_copy(update={"evidence": answer.evidence[:1]})
    changes = {"retrieval": first, "claims": tuple(bare), "usage": {}}
    work = Work(question, bench.instruments, answer.model_copy(update=changes))
    with work.ending():
        await verify(work, _inside(answer.claims), settings)
    return _whole(work)


def _inside(claims: Sequence[Claim]) -> list[int]:
    return [at for at, claim in enumerate(claims) if claim.boundary]


def _whole(work: Work) -> Answer:
    if work.answer.failure is not None:
        raise RuntimeError(f"{work.answer.question_id}: {work.answer.failure}")
    return work.answer


def measured(domain: str, looked: Sequence[Looked]) -> dict[str, object]:
    """A row: how many of the claims within the boundary are decided, before and after.

    ``right``: of those that the second look decided, how many as the recorded evidence does, where
    a run was taken away.
    """
    counts = Counter[str]()
    for recorded, thin, whole in looked:
        counts["runs_added"] += len(whole.evidence) - len(thin.evidence)
        counts["calls"] += sum(usage.calls for usage in whole.usage.values())
        for at in _inside(thin.claims):
            full, first, second = (_status(one.claims[at]) for one in (recorded, thin, whole))
            counts["inside"] += 1
            counts["decided_recorded"] += full in DECIDED
            counts["decided_first"] += first in DECIDED
            counts["decided_after"] += second in DECIDED
            counts["found"] += first not in DECIDED and second in DECIDED
            counts["right"] += first not in DECIDED and second in DECIDED and second == full
    return {"questions": domain, "n": len(looked), **counts}


def _status(claim: Claim) -> str:
    return "" if claim.verdict is None else claim.verdict.status


def pairs_of(base: Results, domain: str) -> Iterator[AnsweredQuestion]:
    """The recorded answers of a domain with their questions."""
    path = base.answers(domain)
    questions = read_questions(base.benchmark(domain))
    return answered_questions(read_records(path, Answer), path, questions)


async def main(base: Results) -> int:
    """Write data/metrics/options-second-look.csv. Exit code 75: calls wait for a batch."""
    project, params = open_project()
    settings = params.answer
    by_reading = settings.model_copy(update={"verify_by": "model"})
    once = settings.model_copy(update={"second_look": False})

    async def live(bench: Bench, pair: AnsweredQuestion) -> Looked:
        question, answer = pair
        return answer, answer, await again(bench, question, answer, by_reading)

    async def thin(bench: Bench, pair: AnsweredQuestion) -> Looked:
        question, answer = pair
        first = await narrowed(bench, question, answer, once)
        return answer, first, await again(bench, question, first, once)

    published = "climate-published"
    rows = [await over(f"look-{published}", "answer", pairs_of(base, published), live, "climate")]
    for domain, count in NARROWED.items():
        two = [pair for pair in pairs_of(base, domain) if len(pair.answer.evidence) == 2]
        rows.append(await over(f"look-{domain}", "answer", two[:count], thin, domain))
    whole = [row for row in rows if row is not None]
    if len(whole) < len(rows):
        return 75
    names = (published, *(f"{domain}, one run of two" for domain in NARROWED))
    frame = pl.DataFrame([measured(name, row) for name, row in zip(names, whole, strict=True)])
    frame.write_csv(project.results.metrics / "options-second-look.csv")
    print(frame)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Results(Path(sys.argv[1])))))
