"""Several runs of the pipeline at once on one call cache: two machines on a Redis, two `dvc repro`.

Each simulator run leaves a line in the project's run log: what was made twice is seen there.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from simulators.urban.runs import BASELINE
from simulrag.calls import cache_stats, parse_place, verify_cache
from tests.integration.projects import copy_project, outs, run, stats
from tests.servers.redis_server import RedisProgram, needs_redis

pytestmark = pytest.mark.slow

ANSWER = (sys.executable, "-m", "flows.stages.answer", "--domain", "urban")
CACHE = (sys.executable, "-m", "flows.cli.app", "cache")
LOG = "runs.jsonl"
SMALL = {
    "benchmark.questions": 3,
    "benchmark.templates": 3,
    "answer.samples": 3,
    "metrics.bootstrap": 100,
    "metrics.random_seeds": 5,
    "operations.prefect": "off",
    "operations.run_log": LOG,
}
Done = subprocess.CompletedProcess[str]
PASSWORD = "a-password-for-this-test"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Benchmark and answers, made with a cache folder."""
    folder = copy_project(tmp_path_factory.mktemp("shared") / "project", **SMALL)
    run(folder, sys.executable, "-m", "flows.stages.simulators", "--domain", "urban")
    run(folder, sys.executable, "-m", "flows.stages.benchmark", "--domain", "urban")
    (folder / LOG).unlink()
    run(folder, *ANSWER)
    return folder


def another(project: Path, folder: Path, cache: str, mode: str = "normal") -> Path:
    """The project on another machine: its benchmark is there, its answers are not."""
    shutil.copytree(project, folder, ignore=shutil.ignore_patterns(".cache", "answers", LOG))
    shutil.rmtree(folder / "data/calls")
    params = yaml.safe_load((folder / "params.yaml").read_text())
    params["operations"] |= {"cache": cache, "mode": mode}
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    return folder


def runs(*projects: Path) -> list[str]:
    """The simulator runs of all, but the baseline's, which each process makes for itself."""
    logs = (project / LOG for project in projects)
    lines = (line for log in logs if log.exists() for line in log.read_text().splitlines())
    return sorted(line for line in lines if json.loads(line)["setting"] != vars(BASELINE))


def at_once(*work: Callable[[], Done]) -> list[Done]:
    with ThreadPoolExecutor(len(work)) as pool:
        return [done.result() for done in [pool.submit(item) for item in work]]


def test_two_machines_make_each_call_once_and_tell_no_password(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_redis()
    monkeypatch.setenv("REDIS_PASSWORD", PASSWORD)
    with RedisProgram(tmp_path / "redis", requirepass=PASSWORD) as program:
        one = another(project, tmp_path / "one", program.place())
        two = another(project, tmp_path / "two", program.place())
        done = at_once(lambda: run(one, *ANSWER), lambda: run(two, *ANSWER))
        place = parse_place(program.place())
        made = runs(one, two)
        assert len(made) == len(set(made)) == cache_stats(place).by_kind["simulator"] > 0
        for folder in (one, two):
            answers = (folder / "data/answers/urban.jsonl").read_bytes()
            assert answers == (project / "data/answers/urban.jsonl").read_bytes()
            exported = (folder / "data/calls/answer-urban.parquet").read_bytes()
            assert exported == (project / "data/calls/answer-urban.parquet").read_bytes()
            assert not (folder / ".cache").exists()
            assert all(
                PASSWORD.encode() not in path.read_bytes()
                for path in folder.rglob("*")
                if path.is_file()
            )
        assert PASSWORD not in str(done)
        assert verify_cache(place).problems == ()


def test_a_copied_cache_answers_everything(project: Path, tmp_path: Path) -> None:
    needs_redis()
    with RedisProgram(tmp_path / "redis") as program:
        entries = stats(project)["entries"]
        for copied in (entries, 0):
            said = run(project, *CACHE, "copy", "--json", ".cache/calls", program.place())
            report = json.loads(said.stdout)
            assert (report["refused"], report["pending"]) == ([], 0)
            assert report["copied"] in (copied, copied + 2)  # and the counts of two stages
        there = another(project, tmp_path / "there", program.place(), mode="replay")
        assert stats(there)["entries"] == entries
        run(there, *ANSWER)
        assert stats(there)["stages"]["answer-urban"]["misses"] == 0
        assert runs(there) == []
        program.kill()
        failed = run(there, *ANSWER, check=False)
        assert failed.returncode == 1
        assert "cannot be reached" in failed.stderr
        assert "Traceback" not in failed.stderr
        program.start()
        run(there, *ANSWER)
        back = tmp_path / "back"
        run(project, *CACHE, "copy", program.place(), f"diskcache:{back}")
        assert cache_stats(back).entries == entries


def test_two_dvc_repro_at_once(tmp_path: Path) -> None:
    """DVC lets one of them make a stage; the other ends with a clear error or finds it made."""
    folder = copy_project(tmp_path / "project", **SMALL)
    repro = (sys.executable, "-m", "dvc", "repro", "label@urban")
    run(folder, sys.executable, "-m", "dvc", "init", "--no-scm", "--quiet")
    first, second = at_once(
        lambda: run(folder, *repro, check=False), lambda: run(folder, *repro, check=False)
    )
    assert 0 in (first.returncode, second.returncode)
    for done in (first, second):
        if done.returncode != 0:
            said = done.stderr
            assert "lock" in said or "busy" in said or "blocked" in said
    again = run(folder, *repro)
    assert "didn't change, skipping" in again.stdout + again.stderr
    simulated = runs(folder)
    assert len(simulated) == len(set(simulated)) > 0
    made = outs(folder)
    run(folder, *repro, "--force")
    assert outs(folder) == made
    assert runs(folder) == simulated
