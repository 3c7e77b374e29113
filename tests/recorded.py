"""The recorded run, replayed in this process once a session: real texts, no server, no call.

The stages' own steps ask for what is recorded; simulator runs are looked up by tool, arguments and
seed. No out is read: a folder with nothing but params.yaml, prompts and what git holds of data/.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import JsonValue

from flows.files import read_table, record_lines
from flows.params import Params, load_params
from flows.project import Project, Results
from flows.running.rehearse import DryRunGateway, StoredCalls, rehearse
from flows.stages import stage_names
from simulrag.calls import CacheAnswer, CallKind, CallResult, StoredCall, call_key
from simulrag.errors import CacheError
from simulrag.metrics.domain import DomainData, domain_data, labels_by_question
from simulrag.metrics.settings import MetricSettings
from simulrag.questions.published import read_questions
from simulrag.questions.records import read_templates
from simulrag.records import Answer, FinalClaims, Label

ROOT = Path(__file__).resolve().parents[1]
GIVEN = ("params.yaml", "data/recorded", "data/documents", "data/published", "data/routing")


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
    """What the stages' own code made of ``data/recorded``, from an empty cache.

    ``gates``: of stage and domain or source (``answer-urban``) what a model was asked, a line each
    model; ``used``: the keys of the calls that were used; ``results``: the outs; ``place``: the
    call cache.
    """

    params: Params
    gates: list[tuple[str, DryRunGateway]]
    used: dict[str, str]
    results: Results
    place: Path


@pytest.fixture(scope="session")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """All that is recorded, replayed."""
    root = tmp_path_factory.mktemp("recorded")
    return replay(given_project(root / "project"), root)


def replay(
    project: Project, root: Path, files: Sequence[Path] | None = None, **changes: object
) -> Replayed:
    """The stages of a project over recorded calls; ``changes`` are of its parameters."""
    params = load_params(project.params).model_copy(update=changes)
    gates: list[tuple[str, DryRunGateway]] = []

    async def rehearsed() -> None:
        async for at in rehearse(project, params, cache, root / "made"):
            gates.extend((at.stage.named(at.item), gate) for gate in at.gates)

    with Recorded(root / "calls", files) as cache:
        asyncio.run(rehearsed())
        return Replayed(params, gates, dict(cache.used), Results(root / "made"), root / "calls")


def data_of(found: Replayed, domain: str, settings: MetricSettings) -> DomainData:
    """What the metrics know of a replayed domain, without the exports of its calls."""
    made = found.results
    labels = read_table(made.labels(domain), Label)
    return domain_data(
        domain,
        settings,
        questions=read_questions(made.benchmark(domain)),
        answers=record_lines(made.answers(domain), Answer),
        finals=record_lines(made.final_claims(domain), FinalClaims),
        judge=labels_by_question((one.question_id, one.claim_hash, one.label) for one in labels),
        templates=read_templates(made.templates(domain)),
    )


def given_project(root: Path) -> Project:
    """A folder with copies of the prompts and links to the rest of what is replayed."""
    root.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "prompts", root / "prompts")
    for name in GIVEN:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(ROOT / name)
    return Project(root)


def recorded_files() -> list[Path]:
    """The exports in git of the stages that are here."""
    files = sorted((ROOT / "data/recorded").glob("*.parquet"))
    return [file for file in files if file.stem.partition("-")[0] in stage_names()]


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
