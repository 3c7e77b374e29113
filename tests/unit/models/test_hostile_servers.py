"""What a model server or a file of results may not do."""

from __future__ import annotations

import gzip
import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from simulrag.calls import CallCache
from simulrag.errors import ModelUnavailable
from simulrag.method.answering import CLOSED_BOOK
from simulrag.models.base import Message, Sampling
from simulrag.models.budget import Account, Budget
from simulrag.models.gateway import Gateway
from simulrag.models.prices import PriceTable
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers.faults import without_key
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import BudgetLimits, ModelSettings
from simulrag.records import Usage
from simulrag.testing import LoopbackServer, stand_in
from simulrag.testing.loopback import fails

KEY = "sk-planted/1234567890"


@pytest.mark.parametrize("count", [-1, -(10**9), 10**13, 10**30, 1.5, True])
def test_counts_that_cannot_be_are_no_usage(count: object) -> None:
    with pytest.raises(ValueError, match="input_tokens"):
        Usage.model_validate({"input_tokens": count}, strict=True)


@pytest.mark.parametrize(
    "spelled",
    [
        KEY,
        KEY.replace("/", r"\/"),
        "\\u0073" + KEY[1:],
        "".join(f"\\u{ord(letter):04x}" for letter in KEY),
        "".join(f"\\u{ord(letter):04X}" for letter in KEY),
    ],
)
def test_a_key_is_filtered_in_every_spelling_of_json(spelled: str) -> None:
    text = f'{{"claim": "It says {spelled} here."}}'
    shown = without_key(text, KEY)
    assert json.loads(shown) == {"claim": "It says *** here."}


def test_words_that_look_like_escapes_are_left_alone() -> None:
    text = r'{"path": "C:\\new", "sign": "±"}'
    assert without_key(text, KEY) == text


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
