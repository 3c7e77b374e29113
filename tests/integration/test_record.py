"""``simulrag record``: what stays, what leaves, and outputs that differ."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from flows.params import Params, load_params
from flows.project import Project
from flows.recording import record_calls, record_runs
from simulrag.calls import CallCache, CallResult
from simulrag.errors import InputError
from tests.integration.projects import change_params
from tests.recorded import ROOT


@pytest.fixture
def project(tmp_path: Path) -> tuple[Project, Params]:
    """Climate and its recorded benchmark, 28 runs of an engine that takes a second."""
    recorded = tmp_path / "data/recorded"
    recorded.mkdir(parents=True)
    shutil.copy(ROOT / "data/recorded/benchmark-climate.parquet", recorded)
    shutil.copy(ROOT / "tests/params.yaml", tmp_path / "params.yaml")
    change_params(tmp_path, domains=["climate"])
    return Project(tmp_path), load_params(tmp_path / "params.yaml")


async def _export(folder: Path, path: Path, *replies: str, context: str = "") -> None:
    """A stage's export of calls that are told apart by their replies."""

    with CallCache(folder, stage="x") as cache:
        for reply in replies:

            async def made(reply: str = reply) -> CallResult:
                return CallResult(response=reply, context=context)

            await cache.get_or_call("model", {"model": "m", "n": reply[:1]}, made)
        cache.export(path)


async def test_calls_still_used_stay_as_recorded_and_others_leave(
    project: tuple[Project, Params], tmp_path: Path
) -> None:
    place, params = project
    name = "label-climate"
    target, source = place.recorded / f"{name}.parquet", place.results.calls(name)
    source.parent.mkdir(parents=True)
    await _export(tmp_path / "old", target, "1 recorded", "2 recorded")
    await _export(tmp_path / "new", source, "2 anew", "3 anew")
    lines = list(record_calls(place, params))
    assert f"{name}: 1 calls kept, 1 new, 1 gone" in lines
    assert "benchmark-climate: not run here, left as it is" in lines
    assert "RECORDED.md" in lines[-1]
    kept = sorted(pl.read_parquet(target)["response"])
    assert kept == ['"2 recorded"', '"3 anew"']
    before = target.read_bytes()
    list(record_calls(place, params))
    assert target.read_bytes() == before


async def test_an_export_that_was_altered_is_refused(
    project: tuple[Project, Params], tmp_path: Path
) -> None:
    place, params = project
    source = place.results.calls("label-climate")
    source.parent.mkdir(parents=True)
    await _export(tmp_path / "new", source, "1 anew")
    altered = pl.read_parquet(source).with_columns(request=pl.lit('{"model":"other"}'))
    altered.write_parquet(source)
    with pytest.raises(InputError, match="1 calls do not match their keys"):
        list(record_calls(place, params))
    assert not (place.recorded / "label-climate.parquet").exists()


async def test_what_no_model_said_is_refused(
    project: tuple[Project, Params], tmp_path: Path
) -> None:
    place, params = project
    source = place.results.calls("label-climate")
    source.parent.mkdir(parents=True)

    async def made() -> CallResult:
        return CallResult(response="Stand-in: so.")

    with CallCache(tmp_path / "new", stage="x") as cache:
        await cache.get_or_call("model", {"model": "any", "provider": "stand-in"}, made)
        cache.export(source)
    with pytest.raises(InputError, match=r"label-climate\.parquet holds stand-ins"):
        list(record_calls(place, params))


def test_without_a_run_there_is_nothing_to_record(project: tuple[Project, Params]) -> None:
    with pytest.raises(InputError, match="run `simulrag run` first"):
        list(record_calls(*project))


def test_runs_made_again_change_no_byte_while_their_code_is_the_same(
    project: tuple[Project, Params],
) -> None:
    place, params = project
    file = place.recorded / "benchmark-climate.parquet"
    before = file.read_bytes()
    (line,) = record_runs(place, params)
    assert line.endswith("runs made again, 0 under a new key")
    assert file.read_bytes() == before


def test_outputs_that_differ_are_refused_unless_accepted(
    project: tuple[Project, Params],
) -> None:
    place, params = project
    file = place.recorded / "benchmark-climate.parquet"
    whole = pl.read_parquet(file)
    simulator = pl.col("kind") == "simulator"
    chosen = whole.filter(simulator)["key"][0]
    # The recording of one run, with another number in it.
    other = pl.col("response").str.replace(r"\d+\.\d", "4321.5")
    wrong = whole.with_columns(
        response=pl.when(pl.col("key") == chosen).then(other).otherwise(pl.col("response"))
    )
    assert wrong.rows() != whole.rows()
    wrong.write_parquet(file)
    before = file.read_bytes()
    with pytest.raises(InputError, match=r"1 outputs differ .*nothing was written.* -?4321\.5"):
        list(record_runs(place, params))
    assert file.read_bytes() == before
    lines = list(record_runs(place, params, accept=True))
    assert any(line.startswith("taken over: climate: ") for line in lines)
    assert pl.read_parquet(file).rows() == whole.rows()
