"""The replay simulator: evidence by question, from both formats, or a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows.files import write_records
from simulators.base import ArgumentError, Simulator, validate_call
from simulators.replay import PUBLISHED_EVIDENCE, ReplaySimulator
from simulrag.questions.published import read_published


def published(path: Path, *pairs: tuple[str, str]) -> Path:
    path.mkdir(exist_ok=True)
    (path / "questions.json").write_text(
        json.dumps([{"question": q, "reference_answer": "-"} for q, _ in pairs])
    )
    (path / "simulator_evidence.json").write_text(
        json.dumps([{"question": q, "derived_quantitative_answer": a} for q, a in pairs])
    )
    return path


def ask(simulator: Simulator, question: str) -> Any:
    arguments = validate_call(simulator, "published_evidence", {"question": question})
    return simulator.run("published_evidence", arguments, 0)


def test_folder_and_imported_file_answer_alike(tmp_path: Path) -> None:
    folder = published(tmp_path / "climate", ("How warm?", "3 degrees"), ("How cold?", "1 degree"))
    write_records(tmp_path / "climate.jsonl", read_published(folder))
    for benchmark in (folder, tmp_path / "climate.jsonl", str(folder)):
        simulator = ReplaySimulator(benchmark=benchmark, domain="climate")
        assert isinstance(simulator, Simulator)
        assert simulator.oracle
        assert ask(simulator, "How warm?").text == "3 degrees"
        assert ask(simulator, " How\n cold? ").text == "1 degree"
        (tool,) = simulator.tools.values()
        assert tool.describe({}, ask(simulator, "How warm?")) == "3 degrees"


def test_a_question_asked_twice_gives_each_distinct_evidence_once(tmp_path: Path) -> None:
    folder = published(tmp_path / "c", ("Warm?", "3"), ("Warm?", "3"), ("Warm?", "4"))
    assert ask(ReplaySimulator(folder, "climate"), "Warm?").text == "3\n\n4"


def test_an_unknown_question_is_an_argument_error(tmp_path: Path) -> None:
    simulator = ReplaySimulator(published(tmp_path / "c", ("Warm?", "3")), "climate")
    with pytest.raises(ArgumentError, match="holds no evidence for the question 'Hot\\?'"):
        ask(simulator, "Hot?")
    with pytest.raises(ArgumentError, match="question"):
        ask(simulator, "")
    with pytest.raises(ArgumentError, match="no tool 'run'"):
        validate_call(simulator, "run", {"question": "Warm?"})
    with pytest.raises(ArgumentError, match="one tool"):
        simulator.run("run", validate_call(simulator, "published_evidence", {"question": "a"}), 0)


def test_the_fingerprint_goes_by_the_files_bytes(tmp_path: Path) -> None:
    first = ReplaySimulator(published(tmp_path / "a", ("Warm?", "3")), "climate")
    same = ReplaySimulator(published(tmp_path / "b", ("Warm?", "3")), "climate")
    other = ReplaySimulator(published(tmp_path / "c", ("Warm?", "4")), "climate")
    assert first.fingerprint() == same.fingerprint()
    assert first.fingerprint() != other.fingerprint()


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("b.jsonl", "{", "b.jsonl:1: this is not JSON"),
        ("b.jsonl", "3", "b.jsonl:1: an object is expected, not a number"),
        ("b.jsonl", '{"text": "a"}', "b.jsonl:1: the question has no 'evidence'"),
        ("b.jsonl", '\n{"evidence": []}', "b.jsonl:2: 'text' is missing"),
        (
            "b.jsonl",
            '{"text": "a", "evidence": [{"text": 3}]}',
            "b.jsonl:1, evidence: 'text' is missing",
        ),
        ("b.jsonl", "", "holds no question"),
        (PUBLISHED_EVIDENCE, "{}", "a list of entries is expected, not an object"),
        (PUBLISHED_EVIDENCE, "[null]", "entry 0: an object is expected, not null"),
        (
            PUBLISHED_EVIDENCE,
            '[{"question": "a"}]',
            "entry 0: 'derived_quantitative_answer' is missing",
        ),
        (PUBLISHED_EVIDENCE, "[]", "holds no question"),
    ],
)
def test_a_broken_benchmark_is_refused_in_a_line(
    tmp_path: Path, file: str, content: str, reason: str
) -> None:
    path = tmp_path / file
    path.write_text(content)
    with pytest.raises(ArgumentError) as caught:
        ReplaySimulator(tmp_path if file == PUBLISHED_EVIDENCE else path, "climate")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_and_unknown_domains_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"finds no evidence at .*none"):
        ReplaySimulator(tmp_path / "none", "climate")
    folder = published(tmp_path / "c", ("Warm?", "3"))
    with pytest.raises(ArgumentError, match="no handbook for 'moon'; it has: climate, epid"):
        ReplaySimulator(folder, "moon")
    with pytest.raises(ArgumentError, match=r"no handbook for '\.\./handbooks/climate'"):
        ReplaySimulator(folder, "../handbooks/climate")


@pytest.mark.parametrize(
    ("domain", "tools"),
    [
        (
            "climate",
            "history_temperature future_temperature diy_greenhouse diy_aerosol "
            "diff_diy_aerosol_mean is_land_or_sea",
        ),
        ("epidemiology", "forecast"),
        ("urban", "run_scenario compare_with_baseline"),
    ],
)
def test_the_handbook_is_the_domains_own(tmp_path: Path, domain: str, tools: str) -> None:
    text = ReplaySimulator(published(tmp_path / "c", ("Warm?", "3")), domain).handbook()
    headings = [line.removeprefix("### ") for line in text.splitlines() if line[:4] == "### "]
    assert headings == tools.split()
    assert text.count("| name | type | unit | range | default | meaning |") == len(headings)
