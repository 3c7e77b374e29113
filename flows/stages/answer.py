"""Stage ``answer``: Algorithm 1 over a benchmark.

All questions are drafted, then the budgets are spent over them, then each is concluded. Between
the passes drafts are held as compressed JSON, some 5 kB a question.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pydantic import JsonValue

from flows.files import check_folder, write_records_async
from flows.params import Params, load_params
from flows.project import Project, Results
from flows.stages.bench import Bench, check_coverage, open_bench
from flows.stages.chunks import over_chunks
from flows.stages.cluster import BenchPlace, workers
from flows.watch.artifacts import failure_lines, show_stage
from flows.watch.tracking import Tracker, run_stage
from simulators.registry import load
from simulrag.errors import InputError
from simulrag.method.algorithm import choose, conclude, draft
from simulrag.method.settings import MethodSettings
from simulrag.questions.published import read_questions
from simulrag.records import Answer, Choice, Failure, Question


def run(
    project: Project,
    domain: str,
    *,
    benchmark: Path | None = None,
    out: Path | None = None,
    simulator: str | None = None,
) -> None:
    """Answer a domain's benchmark, or the questions of a file into another folder.

    ``simulator``: 'replay' answers from the file's own published evidence. The out and the export
    are written before it returns; raises SimulRAGError after that for too low a coverage.
    """
    params = load_params(project.params)
    place = project.results if out is None else Results(out)
    source = benchmark or project.results.benchmark(domain)
    questions = read_questions(source)
    check_domain(source, questions, domain)
    choice, seed = _simulator(project, params, domain, simulator, source)
    name = f"answer-{domain}"
    target = place.answers(domain)
    check_folder(target.parent)

    async def body(tracker: Tracker) -> None:
        bench_at = open_bench(
            project,
            params,
            name,
            "answer",
            simulator=load(*choice),
            seed=seed,
            export=place.calls(name),
        )
        told = AnswerTally()
        async with (
            bench_at as bench,
            workers(BenchPlace(project, params, name, "answer", choice, seed), bench) as there,
        ):
            over = partial(
                over_chunks,
                bench=bench,
                tracker=tracker,
                chunk=params.operations.chunk,
                workers=there,
            )
            tracker.expect(2 * len(questions))
            settings = params.answer
            drawn = over("draft", questions, partial(_draft, settings=settings))
            drafts = [zlib.compress(answer.model_dump_json().encode()) async for answer in drawn]
            bench.waiting.check()
            choices = choose(_read(drafts), settings)
            rows = zip(questions, _read(drafts), choices, strict=True)
            ended = over("conclude", rows, partial(_conclude, settings=settings))
            await write_records_async(target, told.note(ended), bench.waiting.check)
        table = stage_table(domain, told)
        counts = {"questions answered": (told.answered, told.questions)}
        await show_stage(tracker, project, bench.gateway, name, table, counts)
        hint = "; ".join(sorted({failure.reason for _, failure in told.failed})[:2])
        check_coverage(name, told.answered, told.questions, params.operations, hint)

    tags = [f"domain:{domain}", f"model:{params.model('answer').model}"]
    run_stage(project, params, "answer", f"{name}-{len(questions)}q", tags, body=body)


async def _draft(bench: Bench, question: Question, settings: MethodSettings) -> Answer:
    return await draft(question, bench.instruments, settings)


async def _conclude(
    bench: Bench, row: tuple[Question, Answer, tuple[Choice, ...]], settings: MethodSettings
) -> Answer:
    question, drafted, choices = row
    return await conclude(question, drafted, choices, bench.instruments, settings)


def _read(drafts: list[bytes]) -> Iterator[Answer]:
    """The drafts in order, one in memory at a time."""
    return (Answer.model_validate_json(zlib.decompress(packed)) for packed in drafts)


def _simulator(
    project: Project, params: Params, domain: str, named: str | None, source: Path
) -> tuple[tuple[str, Mapping[str, JsonValue]], int]:
    if named is None:
        return params.chosen(domain, project.root), params.simulator(domain).seed
    settings: dict[str, JsonValue] = {}
    if named == "replay":
        settings = {"benchmark": str(source.resolve()), "domain": domain}
    return (named, settings), 0


@dataclass
class AnswerTally:
    """What the stage counts as answers pass, to show when it is done."""

    questions: int = 0
    unverified: int = 0
    claims: int = 0
    calls: int = 0
    runs: int = 0
    failed: list[tuple[str, Failure]] = field(default_factory=list)

    async def note(self, answers: AsyncIterator[Answer]) -> AsyncIterator[Answer]:
        """Count the answers as they pass."""
        async for answer in answers:
            self.questions += 1
            self.claims += len(answer.claims)
            self.calls += sum(usage.calls for usage in answer.usage.values())
            self.runs += answer.simulator_runs
            if answer.failure is not None:
                self.failed.append((answer.question_id, answer.failure))
            elif not answer.verified:
                self.unverified += 1
            yield answer

    @property
    def answered(self) -> int:
        """The questions that came through."""
        return self.questions - len(self.failed)


def stage_table(domain: str, told: AnswerTally) -> str:
    """The stage as Markdown: what came through, what did not and why."""
    rows = [
        ("questions", told.questions),
        ("answered", told.answered),
        ("answered without a verified claim", told.unverified),
        ("claims", told.claims),
        ("model calls used", told.calls),
        ("simulator runs used", told.runs),
    ]
    lines = [f"## answer {domain}", "", "| what | count |", "| --- | --- |"]
    lines += [f"| {name} | {count} |" for name, count in rows]
    lines += failure_lines((name, failure.step, failure.reason) for name, failure in told.failed)
    return "\n".join(lines)


def check_domain(source: Path, questions: list[Question], domain: str) -> None:
    """Raise where a benchmark is of another domain than the one named."""
    others = sorted({question.domain for question in questions} - {domain})
    if others:
        raise InputError(
            f"{source} holds questions of domain {', '.join(others)}, not {domain}; "
            f"give --domain {others[0]}"
        )
