"""What the default run replays, made from the last run of one's own: ``data/recorded``.

The files there are exports (``simulrag.calls.exchange``), packed smaller and with equal bytes for
equal calls: what is still used stays as it was recorded.
"""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from flows.files import write_bytes
from flows.params import Params
from flows.project import Project
from flows.stages import exports, stages
from simulators.base import Simulator
from simulators.conformance import RecordedRun
from simulrag.calls import CallCache, call_key, import_cache
from simulrag.errors import InputError
from simulrag.method.asking import together
from simulrag.method.simulation import Simulations
from simulrag.models.providers.stand_in import StandInProvider

ZSTD_LEVEL = 19
SHOWN_DIFFERENCES = 20


def record_calls(project: Project, params: Params) -> Iterator[str]:
    """Take the calls of each stage's last run into ``data/recorded``; a line for each file.

    A call that was recorded already stays as it is, but for the name of its task, which the run
    tells; one that the run did not use leaves. Raises InputError where no stage has run, and for an
    export that does not match its keys.
    """
    names = exports(params)
    exported = [path for name in names if (path := project.results.calls(name)).is_file()]
    if not exported:
        raise InputError("no stage has exported its calls to data/calls; run `simulrag run` first")
    for path in exported:
        _check_keys(path)
    for name in names:
        source, target = project.results.calls(name), project.recorded / f"{name}.parquet"
        if not source.is_file():
            yield f"{name}: not run here, left as it is"
            continue
        used = pl.read_parquet(source).drop("questions", strict=False)  # of this run alone
        old = pl.read_parquet(target) if target.is_file() else used.clear()
        kept = _with_tasks(old.filter(pl.col("key").is_in(used["key"].to_list())), used)
        new = used.filter(~pl.col("key").is_in(old["key"].to_list()))
        _write(target, pl.concat([kept, new]))
        yield f"{name}: {len(kept)} calls kept, {len(new)} new, {len(old) - len(kept)} gone"
    yield "Say in data/recorded/RECORDED.md which model answered, when and how, then commit both."


def _with_tasks(kept: pl.DataFrame, used: pl.DataFrame) -> pl.DataFrame:
    """Return the recorded rows with the run's column of tasks."""
    recorded = kept.drop("task")
    return recorded.join(used.select("key", "task"), on="key").select(used.columns)


def record_runs(project: Project, params: Params, accept: bool = False) -> Iterator[str]:
    """Make every recorded simulator run again and keep it under today's key; a line a domain.

    Rows of model calls stay byte for byte. Raises InputError, before anything is written, where an
    output differs from the recorded one and ``accept`` is not set.
    """
    again: dict[str, dict[str, StoredRun]] = {}
    differences: list[str] = []
    for domain in params.domains:
        simulator = params.load_simulator(domain, project.root)
        old = {run.key: run for path in _files(project, domain) for run in stored_runs(path)}
        again[domain] = asyncio.run(_made_again(simulator, list(old.values())))
        differences += [
            f"{domain}: {line}"
            for key, run in again[domain].items()
            for line in _differences(old[key], run)
        ]
    if differences and not accept:
        shown = "; ".join(differences[:SHOWN_DIFFERENCES])
        raise InputError(
            f"{len(differences)} outputs differ from the recorded ones, nothing was written: "
            f"{shown}. If the new ones are right, `simulrag record --simulators --accept`; the "
            "texts that models were shown may then have changed too, and calls be missed"
        )
    for domain, runs in again.items():
        moved = sum(key != run.key for key, run in runs.items())
        for path in _files(project, domain):
            _rewrite(path, runs)
        yield f"{domain}: {len(runs)} runs made again, {moved} under a new key"
    for line in differences:
        yield f"taken over: {line}"


@dataclass(frozen=True)
class StoredRun(RecordedRun):
    """A simulator run of an export; ``row`` holds the texts of the export's columns."""

    key: str
    row: dict[str, str]


def stored_runs(export: Path) -> list[StoredRun]:
    """Return the simulator runs of an export of calls; none where there is no file."""
    if not export.is_file():
        return []
    runs = []
    for row in pl.read_parquet(export).filter(pl.col("kind") == "simulator").iter_rows(named=True):
        request, outputs = json.loads(row["request"]), json.loads(row["response"])
        called = {name: request[name] for name in ("tool", "arguments", "seed")}
        runs.append(StoredRun(**called, outputs=outputs, key=row["key"], row=row))
    return runs


async def _made_again(simulator: Simulator, runs: list[StoredRun]) -> dict[str, StoredRun]:
    """Return the new run by the old one's key.

    They go through a cache of their own, which keys them.
    """
    with tempfile.TemporaryDirectory() as folder:
        place, export = Path(folder) / "cache", Path(folder) / "runs.parquet"
        with CallCache(place, stage=None) as cache:
            simulations = Simulations(simulator, cache)
            made = await together(
                simulations.run(run.tool, run.arguments, run.seed) for run in runs
            )
            cache.export(export)
        by_call = {_call(r.tool, dict(r.arguments), r.seed): r for r in stored_runs(export)}
    return {
        run.key: by_call[_call(new.call.tool, new.call.arguments, new.seed)]
        for run, new in zip(runs, made, strict=True)
    }


def _call(tool: str, arguments: dict[str, Any], seed: int) -> str:
    """Key what tells one run of a simulator from another; 1.0 and 1 are one number, as in keys."""
    return call_key("simulator", {"tool": tool, "arguments": arguments, "seed": seed})


def _differences(old: StoredRun, new: StoredRun) -> Iterator[str]:
    """Yield each output that is not exactly the recorded one."""
    if old.outputs == new.outputs:
        return
    names = sorted({*old.outputs, *new.outputs})
    for name in names:
        before, after = old.outputs.get(name, "absent"), new.outputs.get(name, "absent")
        if before != after:
            yield f"{new.tool} {new.arguments}, seed {new.seed}: {name} {before} -> {after}"


def _rewrite(path: Path, runs: dict[str, StoredRun]) -> None:
    """Replace the simulator rows of the file by the new ones."""
    old = pl.read_parquet(path)
    models = old.filter(pl.col("kind") != "simulator")
    wanted = old.filter(pl.col("kind") == "simulator")["key"].to_list()
    rows = {runs[key].key: {name: runs[key].row[name] for name in old.columns} for key in wanted}
    _write(path, pl.concat([models, pl.DataFrame(list(rows.values()), schema=old.schema)]))


def _files(project: Project, domain: str) -> list[Path]:
    asking = (stage for stage in stages() if stage.role is not None)
    paths = (project.recorded / f"{stage.named(domain)}.parquet" for stage in asking)
    return [path for path in paths if path.is_file()]


def _check_keys(path: Path) -> None:
    """Raise InputError for a key that is not its request's, and for a reply of no model."""
    of_models = pl.read_parquet(path).filter(pl.col("kind") == "model")["request"]
    if any(json.loads(request).get("provider") == StandInProvider.name for request in of_models):
        raise InputError(f"{path} holds stand-ins: no model made them, so there is nothing to keep")
    with tempfile.TemporaryDirectory() as folder:
        refused = import_cache(Path(folder), path).refused
    if refused:
        raise InputError(
            f"{path}: {len(refused)} calls do not match their keys (the first: {refused[0]}); the "
            "file was altered, run its stage again"
        )


def _write(path: Path, rows: pl.DataFrame) -> None:
    """Replace the file, where its rows are not these already."""
    buffer = io.BytesIO()
    rows.sort("key").write_parquet(buffer, compression="zstd", compression_level=ZSTD_LEVEL)
    if not path.is_file() or path.read_bytes() != buffer.getvalue():
        write_bytes(path, buffer.getvalue())
