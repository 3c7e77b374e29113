"""Log-probabilities of the first token: over every wire, from the cache, where there are none."""

from __future__ import annotations

from typing import Any

import pytest

from simulrag.calls import CallCache, CallResult
from simulrag.errors import CacheError, InputError
from simulrag.models.base import Message, Request, Sampling
from simulrag.models.gateway import Gateway
from simulrag.models.providers.registry import make_provider
from simulrag.models.providers.wires import first_tokens
from simulrag.models.settings import ModelSettings
from simulrag.testing import LoopbackServer
from simulrag.testing.loopback import Act

SAID = (("SUP", -0.1), ("REF", -2.5))
SENT = {
    "chat": {"logprobs": True, "top_logprobs": 5},
    "responses": {"include": ["message.output_text.logprobs"], "top_logprobs": 5},
}


def asks(top_logprobs: int | None) -> Request:
    sampling = Sampling(top_logprobs=top_logprobs)
    return Request("entail", (Message(role="user", content="One word."),), sampling=sampling)


@pytest.mark.parametrize("wire", list(SENT), indirect=True)
async def test_asked_for_sent_and_kept(wire: str, server: LoopbackServer, gateway: Gateway) -> None:
    server.script(Act(text="SUPPORTS", first_tokens=SAID), Act(text="SUPPORTS"))
    for cached in (False, True):
        found = await gateway.complete(asks(5))
        assert (found.text, found.first_tokens, found.cached) == ("SUPPORTS", SAID, cached)
    plain = await gateway.complete(asks(None))
    assert (plain.first_tokens, plain.cached) == ((), False)
    first, second = (one.body for one in server.requests)
    added = {name: value for name, value in first.items() if name not in second}
    assert added == SENT[wire]
    keys = [gateway.key(asks(n)) for n in (5, None)]
    assert keys[0]["sampling"] == {"top_logprobs": 5}
    assert keys[1]["sampling"] == {}


@pytest.mark.parametrize("wire", ["chat"], indirect=True)
async def test_a_server_that_sends_none(server: LoopbackServer, gateway: Gateway) -> None:
    server.script(Act(text="SUPPORTS", first_tokens=()))
    assert (await gateway.complete(asks(5))).first_tokens == ()


@pytest.mark.parametrize("wire", ["chat"], indirect=True)
@pytest.mark.parametrize("stored", ["S", {"text": "S"}, {"text": "S", "first_tokens": [["S"]]}])
async def test_a_row_that_lost_them_is_no_reply(
    stored: Any, gateway: Gateway, cache: CallCache
) -> None:
    async def row() -> CallResult:
        return CallResult(response=stored)

    await cache.get_or_call("model", gateway.key(asks(5)), row)
    with pytest.raises(CacheError, match="log-probabilities"):
        await gateway.complete(asks(5))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"provider": "anthropic"}, "Anthropic's API tells no log-probabilities"),
        ({"provider": "openai", "effort": "low"}, "a model that reasons tells no"),
    ],
)
def test_providers_without_them_name_the_other_way(given: dict[str, str], problem: str) -> None:
    task = Sampling(top_logprobs=20, reasoning_effort=given.get("effort"))
    settings = ModelSettings(provider=given["provider"], model="m", tasks={"entail": task})
    with pytest.raises(InputError, match=problem) as told:
        make_provider(settings)
    assert "which the task 'entail' asks for" in str(told.value)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (None, ()),
        ([], ()),
        ([{"token": "S", "logprob": -0.5}], (("S", -0.5),)),
        ([{"token": "\n", "logprob": -0.1}, {"token": "R", "logprob": -1}], (("R", -1.0),)),
        (
            [{"token": "S", "logprob": None, "top_logprobs": [{"token": "R", "logprob": 0.001}]}],
            (("R", 0.0),),
        ),
        ([{"token": "S", "logprob": -9999.0, "top_logprobs": None}], ()),
        ([{"token": "S", "logprob": -(10**400)}], ()),
        ([{"token": "S", "logprob": 10**400}], (("S", 0.0),)),
        ([{"logprob": -1}, "S"], ()),
    ],
)
def test_what_servers_send(content: object, found: tuple[tuple[str, float], ...]) -> None:
    assert first_tokens(content, "") == found
