"""``simulrag route`` and ``ask --domain auto``, against a server of test replies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.cli.app import app
from flows.cli.errors import ended
from simulrag.testing.loopback import LoopbackServer
from simulrag.testing.traffic import question, traffic
from tests.integration.projects import change_params, copy_project

ELSEWHERE = "Who will win the election in the town next year?"


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(traffic()) as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = copy_project(tmp_path / "project")
    monkeypatch.chdir(made)
    return made


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code = ended(lambda: app(arguments))
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


def test_one_call_says_which_source_fits(
    project: Path, server: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    change_params(
        project, **{"simulators.gone": {"name": "openapi", "settings": {"document": "a"}}}
    )
    model = ("--model", f"{server.url}#m", "--json")
    found = said(capsys, "route", question(3), *model)
    assert found["chosen"] == "urban"
    fits = {one["source"]: (one["fit"], one["tool"]) for one in found["sources"]}
    assert fits == {
        "urban": ("partly", "compare_with_baseline"),
        "climate": ("not", ""),
        "epidemiology": ("not", ""),
    }
    assert "cannot be read" in found["unavailable"]["gone"]
    assert said(capsys, "route", ELSEWHERE, *model)["chosen"] is None
    said(capsys, "route", question(3), *model)
    assert len(server.requests) == 2  # a third time was a hit


def test_where_nothing_fits_the_answer_is_closed_book(
    project: Path, server: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ("--model", f"{server.url}#m", "--json")
    found = said(capsys, "ask", ELSEWHERE, "--domain", "auto", *model)
    assert found["verified"] is False
    assert found["evidence"] == []
    assert found["answer"]
    assert found["source"].endswith("no source fits, so nothing was run")
    assert {claim["boundary"] for claim in found["claims"]} == {False}


@pytest.mark.slow
def test_where_a_source_fits_it_is_run(
    project: Path, server: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ("--model", f"{server.url}#m", "--json")
    found = said(capsys, "ask", question(3), "--domain", "auto", *model)
    assert found["source"].endswith("domain urban")
    assert {item["simulator"] for item in found["evidence"]} == {"urban"}
