"""The recorded run, replayed in this process once a session: real texts, no server, no call.

The stages' own steps ask for what is recorded; simulator runs are looked up by tool, arguments and
seed. No out is read: a folder with nothing but params.yaml, prompts and what git holds of data/.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import JsonValue

from flows.params import Params, load_params
from flows.plan.rehearse import Rehearsal, Rehearsed, StoredCalls, StoredRuns, rehearse
from flows.project import Project
from flows.running.bench import located
from flows.stages.forms_answer import evidence_of, seed_of, tasks
from flows.stages.forms_benchmark import made_of, simulator_of
from flows.stages.forms_metrics import judging
from simulators.library.builder import build_corpus
from simulrag.calls import CacheAnswer, CallKind, CallResult, StoredCall, call_key
from simulrag.errors import CacheError, CallsPending
from simulrag.judging.entailment import judge
from simulrag.metrics.data import DomainData
from simulrag.metrics.gather import collect
from simulrag.metrics.settings import MetricSettings
from simulrag.models.prompts import Prompts
from simulrag.questions.forms.answering import answer_question

ROOT = Path(__file__).resolve().parents[1]
GIVEN = ("params.yaml", "data/recorded", "data/documents", "data/published", "data/routing")
STAGES = ("benchmark", "answer", "label")


class Recorded(StoredCalls):
    """Recorded calls; of a simulator's the fingerprint, which follows its code, is left out.

    ``files``: the exports, None for those of ``data/recorded``.
    """

    def __init__(self, place: Path, files: Sequence[Path] | None = None) -> None:
        super().__init__(place, stage="recorded", mode="replay")
        files = recorded_files() if files is None else files
        for file in files:
            assert self.import_calls(file).refused == ()
        self.rows = {
            key: (kind, request, response) for key, kind, request, response in exported_calls(files)
        }
        self.runs = {
            _run(request): key
            for key, (kind, request, _) in self.rows.items()
            if kind == "simulator"
        }

    async def get_or_call(
        self,
        kind: CallKind,
        request: Mapping[str, JsonValue],
        call: Callable[[], Awaitable[CallResult]] | None = None,
        *,
        task: str = "",
    ) -> CacheAnswer:
        """The stored answer. Raises CacheError where there is none."""
        if kind == "model":
            return await super().get_or_call(kind, request, call, task=task)
        key = self.runs.get(_run(request))
        if key is None:
            raise CacheError(f"the run {request['tool']} {request['arguments']} is not recorded")
        self._used.setdefault(key, "")
        _, _, response = self.rows[key]
        return CacheAnswer(
            StoredCall(key=key, kind=kind, request=dict(request), response=response), hit=True
        )


@dataclass(frozen=True)
class Replayed:
    """What the stages' own code made of ``data/recorded``, by domain, from an empty cache.

    ``forms``: by stage and source, what questions by form asked for.
    """

    params: Params
    domains: dict[str, Rehearsed]
    forms: dict[str, Rehearsal]
    used: dict[str, str]
    place: Path


@pytest.fixture(scope="session")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """All that is recorded, replayed."""
    root = tmp_path_factory.mktemp("recorded")
    project = given_project(root)
    params = load_params(project.params)
    with Recorded(root / "calls") as cache:
        domains = {
            domain: asyncio.run(rehearse(project, params, cache, domain))
            for domain in params.domains
        }
        forms: dict[str, Rehearsal] = {}
        for source in params.forms.sources:
            forms |= asyncio.run(_forms(project, params, cache, source))
        return Replayed(params, domains, forms, dict(cache.used), root / "calls")


def data_of(found: Rehearsed, settings: MetricSettings) -> DomainData:
    """What the metrics know of a replayed domain, without the exports of its calls."""
    made = found.benchmark
    return collect(
        found.domain,
        settings,
        questions=found.questions,
        answers=(answer for _, answer in found.complete),
        finals=found.finals,
        judge={(one.question_id, one.claim_hash): one.label for one in found.labels},
        templates={one.template_id: one for one in made.templates} if made else {},
    )


def given_project(root: Path) -> Project:
    """A folder with copies of the prompts and links to the rest of what is replayed."""
    shutil.copytree(ROOT / "prompts", root / "prompts")
    for name in GIVEN:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(ROOT / name)
    return Project(root)


async def _forms(
    project: Project, params: Params, cache: Recorded, source: str
) -> dict[str, Rehearsal]:
    """The three stages of questions by form, by name."""
    prompts, judged = Prompts(project.prompts, params.prompts), judging(params)
    gates = {
        f"{stage}-{source}": Rehearsal(located(project, given.model(role)), cache, prompts)
        for stage, role, given in (
            ("forms_benchmark", "benchmark", params),
            ("forms_answer", "answer", params),
            ("forms_metrics", "judge", judged),
        )
    }
    making, answering, judges = gates.values()
    corpus = project.results.corpus(source)
    if (given := params.forms.documents.get(source)) is not None:
        files = [project.root / name for name in given.files]
        build_corpus(corpus, files, licence=given.licence, attribution=given.attribution)
    own = simulator_of(project, params, source)
    runs = None if own is None else StoredRuns(own, cache)
    made = await made_of(making, runs, params, source, corpus)
    simulators = evidence_of(project, params, source)
    there = {name: StoredRuns(one, cache) for name, one in simulators.items()}
    wanted = params.forms
    for question, condition in tasks([one for part in made for one in part.questions], simulators):
        with suppress(CallsPending):
            answer = await answer_question(
                question,
                condition,
                answering,
                there.get(condition),
                seed=wanted.seed,
                simulator_seed=seed_of(params, source),
                max_attempts=wanted.answer.max_attempts,
            )
            if question.form == "freeform" and answer.failure is None:
                await judge(
                    question.answer_text,
                    answer.answer,
                    judges,
                    wanted.metrics.factual,
                    wanted.metrics.samples,
                    wanted.metrics.min_label_mass,
                )
    return gates


def recorded_files() -> list[Path]:
    """The exports in git."""
    return sorted((ROOT / "data/recorded").glob("*.parquet"))


def recorded_calls() -> Iterator[tuple[str, str, dict[str, Any], Any]]:
    """Key, kind, request and response of every recorded call."""
    return exported_calls(recorded_files())


def exported_calls(files: Iterable[Path]) -> Iterator[tuple[str, str, dict[str, Any], Any]]:
    """Key, kind, request and response of every call of some exports."""
    for file in files:
        for row in pl.read_parquet(file).iter_rows(named=True):
            request, response = json.loads(row["request"]), json.loads(row["response"])
            yield row["key"], row["kind"], request, response


def _run(request: Mapping[str, Any]) -> str:
    names = ("simulator", "tool", "arguments", "seed")
    return call_key("simulator", {name: request[name] for name in names})
