"""``python -m studies.options.verdicts FOLDER``: recorded claims by reading, by point and by range.

FOLDER is a project whose claims were judged by both. Nothing is called: claims were read once, and
arithmetic compares what was read with the outputs of the recorded runs, by range with those of the
same runs made again by epidemiology's simulator with its spread (20 members, 90 % ranges). Written
to data/metrics/options-verdicts.csv: claims by domain, kind, label and the three verdicts.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from flows.files import record_lines
from flows.params import Params, load_params
from flows.plan.rehearse import StoredCalls, StoredGateway
from flows.project import Project, find_project
from flows.running.bench import located
from flows.stages.metrics import read_labels
from simulators.registry import load
from simulrag.calls import CallCache
from simulrag.method.checking import Outputs, check_claim
from simulrag.method.reading import read_claims, readable_runs
from simulrag.method.simulation import Simulations
from simulrag.models.prompts import Prompts
from simulrag.questions.published import read_questions
from simulrag.records import Answer, claim_hash
from studies.options.compare import OWN

SPREAD: Mapping[str, Mapping[str, bool]] = {"epidemiology": {"spread": True}}
"""Further settings of the simulators that can tell a range."""
COLUMNS = ("domain", "kind", "label", "model", "point", "range", "claims")


async def counted(
    project: Project, params: Params, domain: str, ask: StoredGateway, cache: CallCache
) -> Counter[tuple[str, ...]]:
    """How many claims of a domain have each kind, label and verdicts."""
    chosen = params.simulator(domain)
    tools = params.load_simulator(domain, project.root).tools
    spread = load(chosen.name, {**chosen.settings, **SPREAD.get(domain, {})})
    runs = Simulations(spread, cache)
    labelled = project.results.labels(domain)
    labels = read_labels(labelled) if labelled.is_file() else {}
    asked = {one.question_id: one for one in read_questions(project.results.benchmark(domain))}
    found: Counter[tuple[str, ...]] = Counter()
    for answer in record_lines(project.results.answers(domain), Answer):
        readable = readable_runs(answer.evidence, tools)
        readings = await read_claims(
            asked[answer.question_id].text,
            [claim.text for claim in answer.claims],
            readable,
            ask,
            claims_per_call=params.answer.claims_per_call.verify,
        )
        points = ranges = Outputs(answer.evidence, readable, tools)
        if domain in SPREAD:
            again = [
                await runs.run(one.call.tool, one.call.arguments, one.seed)
                for one in answer.evidence
            ]
            ranges = Outputs(again, readable_runs(again, spread.tools), spread.tools)
        said = labels.get(answer.question_id, {})
        for claim, reading in zip(answer.claims, readings, strict=True):
            verdicts = (
                claim.verdict.status if claim.verdict else "none",
                check_claim(claim.text, reading, points, "point").status,
                check_claim(claim.text, reading, ranges, "range").status,
            )
            label = said.get(claim_hash(claim.text)) or "none"
            found[domain, reading.kind, label, *verdicts] += 1
    return found


async def main(folder: Path) -> int:
    """Write the table."""
    project = Project(folder)
    params = load_params(project.params)
    found: Counter[tuple[str, ...]] = Counter()
    with (
        tempfile.TemporaryDirectory() as place,
        StoredCalls(Path(place) / "stored", stage=None, mode="replay") as stored,
        CallCache(Path(place) / "runs", stage=None) as cache,
    ):
        settings = located(project, params.model("answer"))
        ask = StoredGateway(settings, stored, Prompts(project.prompts, params.prompts))
        for domain in OWN:
            stored.import_calls(project.recorded / f"answer-{domain}.parquet")
            found += await counted(project, params, domain, ask, cache)
    frame = pl.DataFrame([(*key, n) for key, n in sorted(found.items())], COLUMNS, orient="row")
    frame.write_csv(find_project().results.metrics / "options-verdicts.csv")
    print(f"{frame['claims'].sum()} claims")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]))))
