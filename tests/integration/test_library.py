"""The library from Python: inside an event loop, and in folders of all kinds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from simulrag import Model, aanswer, answer
from simulrag.errors import BudgetMissing, InputError
from simulrag.library import AnswerNow, default_cache
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
    claim = next(claim for claim in found.claims if claim.before != claim.after)
    assert claim.boundary
    assert claim.verdict is not None
    assert claim.verdict.status == "contradicted"
    assert 0 < claim.confidence["closeness"] <= 1
    assert found.usage["tool_calls"].calls == 1


def test_two_servers_with_a_model_of_one_name_share_no_reply(
    tmp_path: Path, server: LoopbackServer
) -> None:
    def asked_of(url: str, **settings: str) -> AnswerNow:
        model = Model(f"{url}#some-model", **settings)
        return answer(QUESTION, simulator="urban", model=model, cache=tmp_path)

    asked_of(server.url)
    with LoopbackServer(traffic()) as other:
        assert asked_of(other.url).stored_calls == {}
        assert len(other.requests) == len(server.requests)
        named = Model(f"{server.url}#some-model").settings.endpoint
        assert asked_of(other.url, endpoint=named).stored_calls  # as if the first had moved
        assert len(other.requests) == len(server.requests)


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
