"""The library from Python: inside an event loop, and in folders of all kinds."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from lxml import html

from simulrag import Budget, MethodSettings, Model, Progress, aanswer, answer
from simulrag.errors import BudgetMissing, EnvironmentFault, InputError
from simulrag.library import AnswerNow, default_cache
from simulrag.records import AnswerVariant, FinalText
from simulrag.testing import LoopbackServer, stand_in

QUESTION = "The city lowers the speed limit by 30 percent. How does the mean travel time change?"


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(stand_in()) as server:
        yield server


async def test_it_answers_inside_an_event_loop_and_its_twin_finds_every_call(
    tmp_path: Path, server: LoopbackServer
) -> None:
    model = f"{server.url}#some-model"
    today = datetime.now(UTC).date()
    found = answer(QUESTION, simulator="urban", model=model, cache=tmp_path)
    asked = len(server.requests)
    again = await aanswer(QUESTION, simulator="urban", model=Model(model), cache=tmp_path)
    assert len(server.requests) == asked > 0
    assert again.model_dump(exclude={"stored_calls"}) == found.model_dump(exclude={"stored_calls"})
    assert found.stored_calls == {}
    ((day, stored),) = again.stored_calls.items()
    assert (stored, day) == (sum(one.calls for one in found.usage.values()), str(today))
    assert found.text
    assert found.evidence
    assert {one.standing for one in found.final.statements} <= {"checked", "corrected"}
    assert [found.text[one.start : one.end] for one in found.final.statements] == [
        one.quote for one in found.final.statements
    ]
    made = {task: one.calls for task, one in found.usage.items()}
    assert made.items() >= {"plan": 1, "input_rag": 1, "audit": 1}.items()
    assert made.keys() <= {"plan", "input_rag", "audit", "mend", "second_look", "verify_batch"}


def test_claims_of_several_answers_are_verified_where_that_method_is_asked_for(
    tmp_path: Path, server: LoopbackServer
) -> None:
    model, method = f"{server.url}#some-model", MethodSettings(method="paper")
    found = answer(QUESTION, simulator="urban", model=model, method=method, cache=tmp_path)
    claim = next(claim for claim in found.claims if claim.before != claim.after)
    assert claim.boundary
    assert claim.verdict is not None
    assert claim.verdict.status == "contradicted"
    assert 0 < claim.confidence["closeness"] <= 1


def test_two_servers_with_a_model_of_one_name_share_no_reply(
    tmp_path: Path, server: LoopbackServer
) -> None:
    def asked_of(url: str, **settings: str) -> AnswerNow:
        model = Model(f"{url}#some-model", **settings)
        return answer(QUESTION, simulator="urban", model=model, cache=tmp_path)

    asked_of(server.url)
    with LoopbackServer(stand_in()) as other:
        assert asked_of(other.url).stored_calls == {}
        assert len(other.requests) == len(server.requests)
        named = Model(f"{server.url}#some-model").settings.endpoint
        assert asked_of(other.url, endpoint=named).stored_calls  # as if the first had moved
        assert len(other.requests) == len(server.requests)


def test_a_notebook_shows_the_paper_s_claims_before_and_after(
    tmp_path: Path, server: LoopbackServer
) -> None:
    model, method = f"{server.url}#some-model", MethodSettings(method="paper")
    found = answer(QUESTION, simulator="urban", model=model, method=method, cache=tmp_path)
    claims = found.to_frame()
    contradicted = claims.filter(pl.col("verdict") == "contradicted")
    assert len(claims) == len(found.claims)
    assert (contradicted["text_before"] != contradicted["text_after"]).all()
    assert contradicted["kept"].any()
    assert claims["closeness"].is_between(0, 1).all()

    page = html.fromstring(found._repr_html_())
    assert page.xpath("string(./p[1])") == found.text
    (table,) = page.xpath(".//table")
    assert len(table.xpath(".//tbody/tr")) == len(found.claims)
    calls = sum(one.calls for one in found.usage.values())
    assert repr(found).startswith(f"<answer by {calls} model calls (0 of them stored) and 1 ")
    assert "\n" not in repr(found)


def test_a_notebook_shows_what_stands_behind_each_statement(
    tmp_path: Path, server: LoopbackServer
) -> None:
    model = f"{server.url}#some-model"
    found = answer(QUESTION, simulator="urban", model=model, cache=tmp_path)
    page = html.fromstring(found._repr_html_())
    said = page.text_content()
    assert len(found.final.statements) > 0
    assert all(one.quote.rstrip(".") in said for one in found.final.statements)
    assert "checked" in said.replace(found.text, "")
    assert not page.xpath(".//table")


def test_what_a_model_says_is_text_on_the_page() -> None:
    said = AnswerNow(
        question_id="q",
        domain="ask",
        final=FinalText(
            line=AnswerVariant(method="simulrag", samples=1), text="<script>alert(1)</script>"
        ),
    )
    assert "<script>" not in said._repr_html_()


def test_progress_tells_of_each_reply(
    tmp_path: Path, server: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    model = f"{server.url}#some-model"
    told: list[Progress] = []
    answer(QUESTION, simulator="urban", model=model, cache=tmp_path, progress=told.append)
    assert [one.calls for one in told] == list(range(1, len(server.requests) + 1))
    assert (told[-1].stored, told[-1].runs) == (0, 1)
    assert capsys.readouterr().err == ""
    answer(QUESTION, simulator="urban", model=model, cache=tmp_path, progress=True)
    calls = len(told)
    assert f"replies {calls} ({calls} stored before)" in capsys.readouterr().err.splitlines()[-1]


def told(**other: object) -> SimpleNamespace:
    """A simulator that says this of itself."""
    says = {"handbook": "A tank.", "fingerprint": "1", **other}
    calls = {name: lambda text=text: text for name, text in says.items()}
    return SimpleNamespace(name="tank", tools={}, oracle=False, run=None, **calls)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"model": None}, 'model is of type NoneType; give a name such as "openai:gpt-5-mini"'),
        ({"question": 5}, "question is of type int; give its text"),
        ({"simulator": Model}, r"simulator is the class Model; give an object of it: Model\(\)"),
        ({"simulator": {}}, "simulator is a dict without name, tools"),
        ({"simulator": told(handbook="")}, r"handbook\(\) of the simulator has to return text"),
        ({"simulator": told(fingerprint=None)}, r"fingerprint\(\) of the simulator has to return"),
        ({"budget": 0.5}, r"budget is of type float; give Budget\(usd=0.50\)"),
        ({"method": "paper"}, 'method is of type str; give MethodSettings\\(method="paper"\\)'),
        ({"cache": 1}, "cache is of type int; give a folder"),
        ({"seed": True}, "seed is of type bool; give a whole number"),
        ({"progress": "yes"}, "progress is of type str; give True"),
    ],
)
def test_a_wrong_argument_is_told_in_words(wrong: dict[str, Any], said: str) -> None:
    given = {"question": QUESTION, "simulator": "urban", "model": "openai:gpt-5-mini", **wrong}
    with pytest.raises(InputError, match=said):
        answer(given.pop("question"), **given)


@pytest.mark.parametrize("inside_a_loop", [False, True])
def test_without_a_key_it_says_so_alone_before_a_step(
    inside_a_loop: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def asked() -> None:
        more: dict[str, Any] = {"budget": Budget(usd=1), "progress": steps.append}
        answer(QUESTION, simulator="urban", model="openai:gpt-5-mini", cache=tmp_path, **more)

    async def within() -> None:
        asked()

    steps: list[Progress] = []
    with pytest.raises(EnvironmentFault, match="OPENAI_API_KEY is not set") as raised:
        asyncio.run(within()) if inside_a_loop else asked()
    told = "".join(traceback.format_exception(raised.value))
    assert told.count("Traceback") == 1
    assert "another exception" not in told
    assert "retrieval.py" not in told
    assert not steps


async def test_a_paid_model_is_refused_without_a_budget(tmp_path: Path) -> None:
    with pytest.raises(BudgetMissing, match="budget="):
        await aanswer(QUESTION, simulator="urban", model="openai:gpt-5-mini", cache=tmp_path)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"temperature": 1.0}, "temperature: Extra inputs"),
        ({"sampling": {"temperature": 9}}, "sampling.temperature: Input should be less"),
        ({"api_key_env": "sk-secret"}, "the name of an environment variable"),
    ],
)
def test_a_setting_that_cannot_be_is_an_input_error(settings: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said) as raised:
        Model("openai:gpt-5-mini", **settings)
    assert "sk-secret" not in str(raised.value)


def test_calls_are_kept_in_the_project_else_in_the_user_s_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    folder = tmp_path / "work" / "notebooks"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert default_cache() == tmp_path / "user" / "simulrag" / "calls"
    # Somebody's project of another kind, with parameters of its own.
    params = folder.parent / "params.yaml"
    params.write_text("learning_rate: 3\n")
    assert default_cache() == tmp_path / "user" / "simulrag" / "calls"
    params.write_text("operations: {cache: kept/here}\n")
    assert default_cache() == folder.parent / "kept" / "here"
