"""``simulrag record``: what the default run replays, made from the last run of one's own.

The files in ``data/recorded`` are exports (``simulrag.calls.exchange``), packed smaller and with
equal bytes for equal calls: what is still used stays as it was recorded.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    import polars as pl

    from flows.params import Params
    from flows.project import Project
    from simulators.base import Simulator

ZSTD_LEVEL = 19
SHOWN_DIFFERENCES = 20


def record(
    simulators: Annotated[
        bool,
        typer.Option(
            "--simulators",
            help="Make the recorded simulator runs again, after their code changed; "
            "model calls stay as they are.",
        ),
    ] = False,
    accept: Annotated[
        bool,
        typer.Option("--accept", help="With --simulators: take outputs that differ from the old."),
    ] = False,
) -> None:
    """Keep the calls of the last run in data/recorded, where the default replays them from."""
    from flows.params import open_project
    from simulrag.errors import InputError

    if accept and not simulators:
        raise InputError("--accept goes with --simulators")
    project, params = open_project()
    lines = record_runs(project, params, accept) if simulators else record_calls(project, params)
    for line in lines:
        typer.echo(line)


def record_calls(project: Project, params: Params) -> Iterator[str]:
    """Take the calls of each stage's last run into ``data/recorded``; a line for each file.

    A call that was recorded already stays as it is, but for the name of its task, which the run
    tells; one that the run did not use leaves. Raises InputError where no stage has run, and for an
    export that does not match its keys.
    """
    import polars as pl

    from flows.stages import exports
    from simulrag.errors import InputError

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
        used = pl.read_parquet(source)
        old = pl.read_parquet(target) if target.is_file() else used.clear()
        kept = _with_tasks(old.filter(pl.col("key").is_in(used["key"].to_list())), used)
        new = used.filter(~pl.col("key").is_in(old["key"].to_list()))
        _write(target, pl.concat([kept, new]))
        yield f"{name}: {len(kept)} calls kept, {len(new)} new, {len(old) - len(kept)} gone"
    yield "Say in data/recorded/RECORDED.md which model answered, when and how, then commit both."


def _with_tasks(kept: pl.DataFrame, used: pl.DataFrame) -> pl.DataFrame:
    """The recorded rows with the run's column of tasks."""
    recorded = kept.drop("task", strict=False)
    return recorded.join(used.select("key", "task"), on="key").select(used.columns)


def record_runs(project: Project, params: Params, accept: bool = False) -> Iterator[str]:
    """Make every recorded simulator run again and keep it under today's key; a line a domain.

    Rows of model calls stay byte for byte. Raises InputError, before anything is written, where an
    output differs from the recorded one and ``accept`` is not set.
    """
    import asyncio

    from simulrag.errors import InputError

    again: dict[str, dict[str, _Run]] = {}
    differences: list[str] = []
    for domain in params.domains:
        simulator = params.load_simulator(domain, project.root)
        old = {run.key: run for path in _files(project, domain) for run in _runs(path)}
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


class _Run(NamedTuple):
    """A simulator run as its row says it; ``row`` holds the texts of the export's columns."""

    key: str
    tool: str
    arguments: dict[str, Any]
    seed: int
    outputs: Any
    row: dict[str, str]


async def _made_again(simulator: Simulator, runs: list[_Run]) -> dict[str, _Run]:
    """The new run by the old one's key. They go through a cache of their own, which keys them."""
    from simulrag.calls import CallCache
    from simulrag.method.asking import together
    from simulrag.method.simulation import Simulations

    with tempfile.TemporaryDirectory() as folder:
        place, export = Path(folder) / "cache", Path(folder) / "runs.parquet"
        with CallCache(place, stage=None) as cache:
            simulations = Simulations(simulator, cache)
            made = await together(
                simulations.run(run.tool, run.arguments, run.seed) for run in runs
            )
            cache.export(export)
        by_call = {_call(r.tool, r.arguments, r.seed): r for r in _runs(export)}
    return {
        run.key: by_call[_call(new.call.tool, new.call.arguments, new.seed)]
        for run, new in zip(runs, made, strict=True)
    }


def _call(tool: str, arguments: dict[str, Any], seed: int) -> str:
    """What tells one run of a simulator from another; 1.0 and 1 are one number, as in keys."""
    from simulrag.calls import call_key

    return call_key("simulator", {"tool": tool, "arguments": arguments, "seed": seed})


def _differences(old: _Run, new: _Run) -> Iterator[str]:
    """Each output that is not exactly the recorded one."""
    if old.outputs == new.outputs:
        return
    names = sorted({*old.outputs, *new.outputs})
    for name in names:
        before, after = old.outputs.get(name, "absent"), new.outputs.get(name, "absent")
        if before != after:
            yield f"{new.tool} {new.arguments}, seed {new.seed}: {name} {before} -> {after}"


def _runs(path: Path) -> Iterator[_Run]:
    """The simulator runs of an export."""
    import polars as pl

    for row in pl.read_parquet(path).filter(pl.col("kind") == "simulator").iter_rows(named=True):
        request = json.loads(row["request"])
        yield _Run(
            key=row["key"],
            tool=request["tool"],
            arguments=request["arguments"],
            seed=request["seed"],
            outputs=json.loads(row["response"]),
            row=row,
        )


def _rewrite(path: Path, runs: dict[str, _Run]) -> None:
    """The file with its simulator rows replaced by the new ones."""
    import polars as pl

    old = pl.read_parquet(path)
    models = old.filter(pl.col("kind") != "simulator")
    wanted = old.filter(pl.col("kind") == "simulator")["key"].to_list()
    rows = {runs[key].key: runs[key].row for key in wanted}
    _write(path, pl.concat([models, pl.DataFrame(list(rows.values()), schema=old.schema)]))


def _files(project: Project, domain: str) -> list[Path]:
    from flows.stages import stages

    asking = (stage for stage in stages() if stage.role is not None)
    paths = (project.recorded / f"{stage.named(domain)}.parquet" for stage in asking)
    return [path for path in paths if path.is_file()]


def _check_keys(path: Path) -> None:
    """Raise InputError for a row whose key does not belong to its request."""
    from simulrag.calls import import_cache
    from simulrag.errors import InputError

    with tempfile.TemporaryDirectory() as folder:
        refused = import_cache(Path(folder), path).refused
    if refused:
        raise InputError(
            f"{path}: {len(refused)} calls do not match their keys (the first: {refused[0]}); the "
            "file was altered, run its stage again"
        )


def _write(path: Path, rows: pl.DataFrame) -> None:
    """Replace the file, where its rows are not these already."""
    from flows.files import write_bytes

    buffer = io.BytesIO()
    rows.sort("key").write_parquet(buffer, compression="zstd", compression_level=ZSTD_LEVEL)
    if not path.is_file() or path.read_bytes() != buffer.getvalue():
        write_bytes(path, buffer.getvalue())
