"""What a model server or a file of results may not do.

Compatible servers send anything: each odd body is a typed fault, and none a traceback.
"""

from __future__ import annotations

import gzip
import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from simulrag.calls import CallCache
from simulrag.errors import InputError, ModelError, ModelUnavailable, ReplyRefused
from simulrag.method.answering import CLOSED_BOOK
from simulrag.method.verification import Verbalized
from simulrag.models.base import Message, ProviderReply, Sampling
from simulrag.models.budget import Account, Budget
from simulrag.models.gateway import Gateway
from simulrag.models.prices import PriceTable
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers.faults import without_key
from simulrag.models.providers.registry import make_provider
from simulrag.models.replies import InvalidReply, parse_reply, reply_schema
from simulrag.models.settings import BudgetLimits, ModelSettings
from simulrag.records import Usage
from simulrag.testing import LoopbackServer, canned, stand_in
from simulrag.testing.loopback import Act, fails
from tests.unit.models.conftest import KEY, KEY_VARIABLE, settings_of

SLASHED_KEY = "sk-planted/1234567890"


@pytest.mark.parametrize("count", [-1, -(10**9), 10**13, 10**30, 1.5, True])
def test_counts_that_cannot_be_are_no_usage(count: object) -> None:
    with pytest.raises(ValueError, match="input_tokens"):
        Usage.model_validate({"input_tokens": count}, strict=True)


@pytest.mark.parametrize(
    "spelled",
    [
        SLASHED_KEY,
        SLASHED_KEY.replace("/", r"\/"),
        "\\u0073" + SLASHED_KEY[1:],
        "".join(f"\\u{ord(letter):04x}" for letter in SLASHED_KEY),
        "".join(f"\\u{ord(letter):04X}" for letter in SLASHED_KEY),
    ],
)
def test_a_key_is_filtered_in_every_spelling_of_json(spelled: str) -> None:
    text = f'{{"claim": "It says {spelled} here."}}'
    shown = without_key(text, SLASHED_KEY)
    assert json.loads(shown) == {"claim": "It says *** here."}


def test_words_that_look_like_escapes_are_left_alone() -> None:
    text = r'{"path": "C:\\new", "sign": "±"}'
    assert without_key(text, SLASHED_KEY) == text


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_redirect_to_another_host_is_not_followed(
    provider: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with LoopbackServer(stand_in()) as other, LoopbackServer(stand_in()) as server:
        address = other.url.replace("127.0.0.1", "127.0.0.2")
        server.script(fails(307, location=f"{address}/chat/completions"))
        settings = ModelSettings(provider=provider, model="m", base_url=server.url)
        made = make_provider(settings)
        made.retries = 0
        with pytest.raises(ModelUnavailable, match="redirects to another host"):
            await made.call([Message(role="user", content="Secret?")], None, Sampling(), 0)
        await made.close()
        assert other.requests == []


@pytest.mark.parametrize("packed", [False, True])
async def test_a_reply_has_a_limit_that_counts_what_is_unpacked(packed: bool) -> None:
    """An endless one took gigabytes before its time was over."""
    body = b" " * 300_000_000 if packed else b" " * 3_000_000
    with Raw(gzip.compress(body) if packed else body, packed=packed) as server:
        settings = ModelSettings(provider="openai", model="m", base_url=server.url)
        made = make_provider(settings)
        made.retries, made.reply_mb = 0, 2.0
        with pytest.raises(ModelUnavailable, match=r"larger than operations\.reply_mb"):
            await made.call([Message(role="user", content="So?")], None, Sampling(), 0)
        await made.close()


async def test_unknown_usage_stays_unknown_and_a_budget_charges_an_estimate(
    tmp_path: Path,
) -> None:
    message = {"role": "assistant", "content": "Seven. " * 100}
    body = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    with (
        Raw(json.dumps(body).encode(), packed=False) as server,
        CallCache(tmp_path, stage="test") as cache,
    ):
        settings = ModelSettings(provider="openai", model="m", base_url=server.url, paid=True)
        account = Account(cache.ledger(), PriceTable(batch_share=0.5, models=()))
        limits = BudgetLimits(tokens=10**6)
        budget = Budget(limits, account, settings.full_name, max_output=1000)
        gateway = Gateway(
            make_provider(settings), settings, cache, packaged_prompts(), budget=budget
        )
        done = await gateway.ask(CLOSED_BOOK, question="How many days has a week?")
        await gateway.close()
        account.update()
    assert (done.usage.calls, done.usage.counted) == (1, False)
    assert 175 + 50 < account.spent.tokens < 175 + 400


class Raw:
    """A server that gives one body to whatever it is asked."""

    def __init__(self, body: bytes, *, packed: bool) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-type", "application/json")
                if packed:
                    self.send_header("content-encoding", "gzip")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                with suppress(OSError):
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Raw:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


GOOD = '{"probability": 0.5}'


def chat(**changes: Any) -> dict[str, Any]:
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": GOOD},
    }
    return {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]} | changes


def message(content: object) -> dict[str, Any]:
    return chat(choices=[{"message": {"role": "assistant", "content": content}}])


HTML = "<html><body>502 Bad Gateway</body></html>"
COMMON: list[object] = [None, [], {}, 7, "text", [None], HTML]
CHAT: list[object] = [
    chat(choices=None),
    chat(choices={}),
    chat(choices={"0": {}}),
    chat(choices="none"),
    chat(choices=[None]),
    chat(choices=[7]),
    chat(choices=[{"message": None}]),
    chat(choices=[{"message": "text"}]),
    message([{"type": "text", "text": GOOD}]),
    message({"text": GOOD}),
    message(7),
]
RESPONSES: list[object] = [
    {"output": None},
    {"output": {}},
    {"output": [None], "status": "completed"},
    {"output": [{"type": "message", "content": 7}]},
    {"output": [{"type": "message", "content": [{"type": "output_text", "text": None}]}]},
    {"output": [{"type": "message", "content": [{"type": "refusal"}]}]},
]
MESSAGES: list[object] = [
    {"content": None},
    {"content": "text"},
    {"content": [None]},
    {"content": [7]},
    {"content": [{"text": "no type"}]},
    {"content": [{"type": "text", "text": None}]},
]


async def asked(act: Act, wire: str = "chat") -> ProviderReply:
    with LoopbackServer(canned({"Verbalized": GOOD}), [act]) as server:
        made = make_provider(settings_of(server, wire))
        try:
            asking = (Message(role="user", content="Well?"),)
            return await made.call(asking, reply_schema(Verbalized), Sampling(temperature=0.0), 0)
        finally:
            await made.close()


@pytest.fixture(autouse=True)
def planted_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        *(("chat", body) for body in [*COMMON, *CHAT]),
        *(("responses", body) for body in [*COMMON, *RESPONSES]),
        *(("anthropic", body) for body in [*COMMON, *MESSAGES]),
    ],
)
async def test_an_odd_body_is_a_typed_fault(wire: str, body: object) -> None:
    """What is empty or no JSON is sent back to the model, as from every server."""
    raw = body if body is HTML else json.dumps(body)
    with pytest.raises((ModelError, InvalidReply)) as caught:
        parse_reply((await asked(Act(kind="raw", text=str(raw)), wire)).text, Verbalized)
    assert KEY not in str(caught.value)


def _openai(text: str, **more: object) -> dict[str, Any]:
    return {"error": {"message": text, "type": "invalid_request_error", **more}}


def _anthropic(text: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": text}}


@pytest.mark.parametrize(
    ("wire", "body", "field"),
    [
        ("anthropic", _anthropic("`temperature` is deprecated for this model."), "temperature"),
        (
            "anthropic",
            _anthropic("max_tokens: 99999 > 64000, which is the maximum allowed number"),
            "max_tokens",
        ),
        ("chat", _openai("no such value", param="temperature"), "temperature"),
        ("chat", _openai("no effort", param="reasoning.effort"), "reasoning_effort"),
    ],
)
async def test_a_refused_field_stops_the_run_and_names_itself(
    wire: str, body: dict[str, Any], field: str
) -> None:
    act = Act(kind="status", status=400, body=body)
    with pytest.raises(InputError, match=rf"does not take {field} .*params\.yaml"):
        await asked(act, wire)


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        ("anthropic", _anthropic("prompt is too long: 210000 tokens > 200000 maximum")),
        ("anthropic", _anthropic("input length and `max_tokens` exceed context limit: 9 + 2 > 10")),
        ("chat", _openai("maximum context length is 10", code="context_length_exceeded")),
        (
            "chat",
            _openai("'max_tokens' is too large: 9. This model's maximum context length is 5"),
        ),
    ],
)
async def test_a_prompt_that_is_too_long_fails_its_question_alone(
    wire: str, body: dict[str, Any]
) -> None:
    with pytest.raises(ReplyRefused):
        await asked(Act(kind="status", status=400, body=body), wire)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": "12", "completion_tokens": "3"}, (12, 3)),
        ({"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": "none"}, (12, 3)),
        ({"prompt_tokens": "many", "completion_tokens": None}, (0, 0)),
        ({"prompt_tokens": -4, "completion_tokens": [1]}, (0, 0)),
        ({"prompt_tokens": 1.5, "completion_tokens": {}}, (0, 0)),
        *((odd, (0, 0)) for odd in (None, 7, "free", [], {}, [None])),
    ],
)
async def test_an_odd_usage_counts_nothing_and_the_reply_is_used(
    usage: object, tokens: tuple[int, int]
) -> None:
    body = chat(usage=usage, id=7, model=None, created="yesterday")
    done = await asked(Act(kind="raw", text=json.dumps(body)))
    assert done.text == GOOD
    assert (done.usage.calls, done.usage.input_tokens, done.usage.output_tokens) == (1, *tokens)
