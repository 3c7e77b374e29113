"""What the studies of the audit share: given texts audited as the grounded method audits its own.

Task, prompt and check are the method's. Replies come from a study's recorded.parquet and from the
recorded run; what is in neither is asked of ``llm.answer`` of params.yaml, as a stage would ask it.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from flows.params import open_project
from flows.running.bench import open_bench
from simulators.base import Tool
from simulrag.calls import asked_for
from simulrag.errors import CallsPending, InputError, SimulRAGError
from simulrag.method.asking import together
from simulrag.method.audit import audit_text
from simulrag.records import Audit, Evidence, Record, ToolCall


class AuditedText(Record):
    """A text, the question that it answers, and the runs (their texts) that it is held against.

    ``domain``: whose tools the model is told of; empty: nothing can be run further.
    """

    name: str
    domain: str = ""
    question: str
    text: str
    evidence: tuple[str, ...]


def audit_texts(study: str, texts: Sequence[AuditedText], *, record: bool) -> list[Audit]:
    """Audit texts in order; with ``record`` write the replies to the study's recorded.parquet.

    Raises InputError for a file that was altered, NotStored for a reply that is not there where
    calls are only replayed, CallsPending where calls wait for a batch.
    """
    return asyncio.run(_audited(study, texts, record=record))


async def _audited(study: str, texts: Sequence[AuditedText], *, record: bool) -> list[Audit]:
    project, params = open_project()
    recorded = Path(__file__).parent / study / "recorded.parquet"
    tools: dict[str, Mapping[str, Tool]] = {"": {}}
    for domain in sorted({text.domain for text in texts} - {""}):
        tools[domain] = params.load_simulator(domain, project.root).tools
    # Whoever replies to a batch may be shown the stage: its name says nothing of the texts.
    async with open_bench(project, params, "study", "answer") as bench:
        for file in (recorded, *(project.recorded / f"answer-{name}.parquet" for name in tools)):
            if file.is_file() and bench.cache.import_calls(file).refused:
                raise InputError(f"{file} holds calls that do not match their keys; restore it")

        async def audited(item: AuditedText) -> Audit | None:
            with asked_for(item.name):
                runs, known = [_run(text) for text in item.evidence], tools[item.domain]
                work = audit_text(item.question, item.text, runs, known, bench.gateway)
                return await bench.waiting.unless(work)

        audits = await together(map(audited, texts))
        bench.waiting.check()
        if record:
            bench.cache.export(recorded)
        return [audit for audit in audits if audit is not None]


def _run(text: str) -> Evidence:
    nothing = ToolCall(tool="", arguments={})
    return Evidence(simulator="", call=nothing, seed=0, outputs={}, text=text)


def run_study(module: str, study: Callable[[bool], None]) -> int:
    """Run a study's command. The exit code: 75 where calls wait for a batch, 1 for an error."""
    parser = ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("--record", action="store_true", help="write recorded.parquet")
    try:
        study(parser.parse_args().record)
    except SimulRAGError as error:
        print(f"error: {error}", file=sys.stderr)
        return 75 if isinstance(error, CallsPending) else 1
    return 0


def wilson(count: int, of: int) -> tuple[float, float]:
    """Compute Wilson's 95 % interval of a share; 0 to 1 where there is nothing."""
    if not of:
        return 0.0, 1.0
    share, z = count / of, 1.959964
    middle = (share + z**2 / (2 * of)) / (1 + z**2 / of)
    half = z * (share * (1 - share) / of + z**2 / (4 * of**2)) ** 0.5 / (1 + z**2 / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def markdown(*rows: Sequence[object]) -> str:
    """Write rows as a Markdown table; the first is its head."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
