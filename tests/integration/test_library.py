"""The library from Python: inside an event loop, and in folders of all kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulrag import Model, aanswer, answer
from simulrag.errors import BudgetMissing, InputError
from simulrag.library import default_cache
from simulrag.testing import LoopbackServer, traffic

QUESTION = "The city lowers the speed limit by 30 percent. How does the mean travel time change?"


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(traffic()) as server:
        yield server


async def test_it_answers_inside_an_event_loop_and_its_twin_finds_every_call(
    tmp_path: Path, server: LoopbackServer
) -> None:
    model = f"{server.url}#some-model"
    found = answer(QUESTION, simulator="urban", model=model, cache=tmp_path)
    asked = len(server.requests)
    again = await aanswer(QUESTION, simulator="urban", model=Model(model), cache=tmp_path)
    assert len(server.requests) == asked > 0
    assert again == found
    assert found.text
    assert found.evidence
    claim = next(claim for claim in found.claims if claim.before != claim.after)
    assert claim.boundary
    assert claim.verdict is not None
    assert claim.verdict.status == "contradicted"
    assert 0 < claim.confidence["closeness"] <= 1
    assert found.usage["tool_calls"].calls == 1


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
