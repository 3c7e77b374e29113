"""``simulrag check`` and ``simulrag.check``: a text of anybody's, held against runs."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from simulrag import acheck, check
from simulrag.errors import InputError
from simulrag.questions.published import read_questions
from simulrag.testing import LoopbackServer, stand_in
from simulrag.testing.wires import schema_name
from tests.integration.projects import copy_project, stub_model
from tests.integration.terminal import Terminal
from tests.integration.test_library import told as tank

QUESTION = "The city lowers the speed limit by 30 percent. How does the mean travel time change?"
RIGHT = "The mean travel time rightly rises."
WRONG = "CO2 wrongly changes by 99.99 percent."
BEYOND = "Shops openly like it."
PUBLISHED = {
    "name": "replay",
    "settings": {"benchmark": "data/published/questions/urban.jsonl", "domain": "urban"},
}


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(stand_in()) as server:
        yield server


@pytest.fixture(scope="module")
def project(server: LoopbackServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was never run."""
    model = stub_model(server.url)
    folder = tmp_path_factory.mktemp("check") / "project"
    return copy_project(folder, **{"llm.answer": model, "simulators.published": PUBLISHED})


@pytest.fixture
def terminal(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    return Terminal(project, monkeypatch, capsys)


@pytest.fixture
def asked(terminal: Terminal, tmp_path: Path) -> Any:
    """The command on a text, with its question and domain."""

    def ask(text: str, *more: str, question: str = QUESTION, domain: str = "urban") -> Any:
        file = tmp_path / "text.txt"
        file.write_text(text, encoding="utf-8")
        return terminal("check", str(file), "--domain", domain, "--question", question, *more)

    return ask


def test_a_text_that_the_runs_hold_passes(asked: Any) -> None:
    said = asked(f"\ufeff{RIGHT} {BEYOND}\n")
    assert (said.code, said.err) == (0, "")
    assert f"{RIGHT} ✓1 {BEYOND} ∅" in said.out
    assert "Checked now by openai: stub" in said.out
    assert "Run 1: urban.run_scenario" in said.out
    assert "grounded" not in said.out, "nobody's recipe wrote it"
    assert asked(f"{RIGHT} {BEYOND}").code == 0


def test_a_wrong_statement_is_exit_code_3(asked: Any) -> None:
    said = asked(f"{RIGHT} {WRONG}")
    assert said.code == 3
    assert f"{WRONG} ✗1" in said.out
    said = asked(WRONG)
    assert said.code == 3
    assert "decide" not in said.out, "a run decided it"


def test_mended_it_is_still_exit_code_3_and_told_what_it_said(asked: Any) -> None:
    said = asked(f"{RIGHT} {WRONG}", "--mend")
    assert said.code == 3
    text, _, rest = said.out.partition("✎1")
    assert "99.99" not in text
    assert f"(said: {WRONG})" in " ".join(rest.split())


def test_as_json_it_tells_source_text_statements_and_audit(asked: Any) -> None:
    said = asked(f"{RIGHT} {WRONG}", "--json")
    assert said.code == 3
    found = json.loads(said.out)
    assert found["source"].startswith("checked now by openai: stub")
    assert (found["question"], found["answer"]) == (QUESTION, f"{RIGHT} {WRONG}")
    assert [one["standing"] for one in found["statements"]] == ["checked", "wrong"]
    assert [one["status"] for one in found["audit"]["claims"]] == ["supported", "wrong"]
    assert set(found["usage"]) == {"evaluation_decompose", "second_look", "audit"}


def test_a_dash_is_standard_input(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    given = SimpleNamespace(buffer=io.BytesIO(WRONG.encode()))
    monkeypatch.setattr(sys, "stdin", given)
    said = terminal("check", "-", "--domain", "urban", "--question", QUESTION)
    assert said.code == 3
    assert WRONG in said.out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "text.txt cannot be read: No such file or directory"),
        (b"It rises by 3 \xb5.", "text.txt is not UTF-8 text"),
        (b" \n", "the text to check is empty; give one"),
    ],
)
def test_a_file_that_is_no_text_is_told(
    terminal: Terminal, tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "text.txt"
    if content is not None:
        file.write_bytes(content)
    found = terminal("check", str(file), "--domain", "urban", "--question", QUESTION)
    assert found.code == 2
    assert said in found.err


def test_an_empty_question_and_an_unknown_domain_are_told(asked: Any) -> None:
    said = asked(RIGHT, question="  ")
    assert said.code == 2
    assert "the question is empty" in said.err
    said = asked(RIGHT, domain="urbn")
    assert said.code == 2
    assert "urban" in said.err
    said = asked(RIGHT, "--free")
    assert said.code == 2
    assert "name one by --model" in said.err


def test_where_no_run_decides_anything_it_says_so_and_passes(asked: Any) -> None:
    said = asked(BEYOND)
    assert said.code == 0
    assert "The runs decide nothing that this text says." in said.out


@pytest.mark.parametrize("schema", ["Decomposition", "ToolCalls"])
def test_a_text_without_a_claim_and_one_that_no_run_decides_are_not_run_for(
    asked: Any, schema: str
) -> None:
    """``schema``: of the reply that is empty."""
    empty: dict[str, object] = {"Decomposition": {"claims": []}, "ToolCalls": {"calls": []}}
    usual = stand_in()

    def says(body: Any) -> str:
        return json.dumps(empty[schema]) if schema_name(body) == schema else usual(body)

    with LoopbackServer(says) as server:
        said = asked("Hello there.", "--model", f"{server.url}#other")
    assert said.code == 0, said.err
    assert "Nothing was run: no run would decide a claim of this text." in said.out
    assert "Run 1" not in said.out


def test_a_published_question_s_own_evidence_checks_a_text(asked: Any, project: Path) -> None:
    question = next(iter(read_questions(project / "data/published/questions/urban.jsonl")))
    said = asked(BEYOND, "--json", question=question.text, domain="published")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert found["evidence"][0]["simulator"] == "replay"
    assert set(found["usage"]) == {"audit"}, "nothing is asked for runs"
    said = asked(BEYOND, domain="published")
    assert said.code == 2
    assert "holds no evidence for the question" in said.err


def test_from_python_it_holds_what_the_text_says(tmp_path: Path, server: LoopbackServer) -> None:
    def checked(**more: Any) -> Any:
        model, cache = f"{server.url}#some-model", tmp_path
        text = f"{RIGHT} {WRONG}"
        return check(text, QUESTION, simulator="urban", model=model, cache=cache, **more)

    found = checked()
    assert [one.standing for one in found.statements] == ["checked", "wrong"]
    assert (found.text, found.missing) == (f"{RIGHT} {WRONG}", ())
    assert len(found.evidence) == found.simulator_runs == 1
    assert found.stored_calls == {}
    assert "1 checked, 1 wrong" in repr(found)
    assert WRONG in found._repr_html_()
    wrong = check(WRONG, QUESTION, simulator="urban", model=f"{server.url}#x", cache=tmp_path)
    assert "decide" not in wrong._repr_html_()
    beyond = check(BEYOND, QUESTION, simulator="urban", model=f"{server.url}#x", cache=tmp_path)
    assert "The runs decide nothing that this text says." in beyond._repr_html_()
    mended = checked(mend=True)
    assert [one.standing for one in mended.statements] == ["checked", "corrected"]
    assert "99.99" not in mended.text
    assert sum(mended.stored_calls.values()) == 3, "all but the mending"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"text": None}, "the text to check is of type NoneType; give a text"),
        ({"text": ""}, "the text to check is empty; give one"),
        ({"text": "\ud800"}, "the text to check is not UTF-8 text"),
        ({"question": ""}, "the question is empty"),
        ({"question": None}, "question is of type NoneType"),
        ({"simulator": {}}, "simulator is a dict without name, tools"),
        ({"simulator": tank()}, "has no tool, so nothing can be run to check a text"),
        ({"budget": 0.5}, "budget is of type float"),
    ],
)
async def test_a_wrong_argument_is_told_in_words(
    wrong: dict[str, Any], said: str, tmp_path: Path
) -> None:
    given = {"text": RIGHT, "question": QUESTION, "simulator": "urban", "cache": tmp_path}
    with pytest.raises(InputError, match=said):
        await acheck(**{**given, "model": "http://127.0.0.1:9/v1#none", **wrong})
