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
from simulrag.method.verification import VERBALIZED, Verbalized
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
from tests.unit.models.test_faults import bytes_below

SLASHED_KEY = "sk-planted/1234567890"
GOOD = '{"probability": 0.5}'
HTML = "<html><body>502 Bad Gateway</body></html>"


def chat(**changes: Any) -> dict[str, Any]:
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": GOOD},
    }
    return {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]} | changes


def message(content: object) -> dict[str, Any]:
    return chat(choices=[{"message": {"role": "assistant", "content": content}}])


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


@pytest.mark.parametrize("before", ["", "\\", '"', "\\\\", "a\\"])
def test_a_line_of_json_stays_one_without_the_key(before: str) -> None:
    """Whatever stands before the key: half of an escaped backslash would be none."""
    for words in (SLASHED_KEY, "\\u0073" + SLASHED_KEY[1:]):
        shown = json.loads(without_key(json.dumps(before + words), SLASHED_KEY))
        assert shown == before.rstrip("\\") + "***"


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


LIMIT = 500
LONG = "x" * 4000
"""A question of about a thousand tokens."""


async def charged(folder: Path, act: Act, wire: str = "chat") -> tuple[Usage, object]:
    """What the ledger has of one paid question, and the reply or the error."""
    with LoopbackServer(canned({None: "Seven."}), [act]) as server:
        settings = settings_of(server, wire, paid=True, sampling={"max_output_tokens": LIMIT})
        with CallCache(folder, stage="test") as cache:
            account = Account(cache.ledger(), PriceTable())
            budget = Budget(BudgetLimits(tokens=10**6), account, settings.full_name)
            made = Gateway(
                make_provider(settings),
                settings,
                cache,
                packaged_prompts(),
                budget=budget,
                retries=0,
            )
            done: object
            try:
                done = await made.ask(CLOSED_BOOK, question=LONG)
            except ModelError as error:
                done = error
            await made.close()
            taken = [item.usage for item in cache.ledger().news()]
        return sum(taken, Usage()), done


NO_COUNT = (range(1000, 1500), range(1, 10))
"""Of a call whose reply is "Seven.": what its sides may be charged as estimates."""
WHOLE = (range(4000, 6000), range(LIMIT, LIMIT + 1))


@pytest.mark.parametrize(
    ("sent", "written", "sides"),
    [
        ("null", "3", (NO_COUNT[0], range(3, 4))),
        ("NaN", "3", (NO_COUNT[0], range(3, 4))),
        ("0", "3", (NO_COUNT[0], range(3, 4))),
        ('"1e3"', "3", (NO_COUNT[0], range(3, 4))),
        ("1200", "null", (range(1200, 1201), NO_COUNT[1])),
        ("1200", "0", (range(1200, 1201), NO_COUNT[1])),
        ("null", "NaN", NO_COUNT),
        ("600000000000", "3", (WHOLE[0], range(3, 4))),
        ("600000000000", "600000000000", WHOLE),
        ("1200", "501", (range(1200, 1201), WHOLE[1])),
        ("1e999", "-1", NO_COUNT),
    ],
)
async def test_a_budget_charges_each_side_what_it_can_have(
    tmp_path: Path, sent: str, written: str, sides: tuple[range, range]
) -> None:
    counts = f'"usage": {{"prompt_tokens": {sent}, "completion_tokens": {written}}}'
    body = json.dumps(message("Seven."))
    taken, done = await charged(tmp_path, Act(kind="raw", text=f"{body[:-1]}, {counts}}}"))
    assert getattr(done, "text", done) == "Seven."
    assert taken.input_tokens in sides[0]
    assert taken.output_tokens in sides[1]


async def test_a_reply_without_a_count_costs_no_more_than_the_longest(tmp_path: Path) -> None:
    taken, _ = await charged(tmp_path, Act(kind="raw", text=json.dumps(message("x" * 10**6))))
    assert (taken.calls, taken.output_tokens) == (1, LIMIT)


async def test_no_absurd_count_of_the_prompt_cache_passes_the_prompt(tmp_path: Path) -> None:
    usage = {"input_tokens": 100, "output_tokens": 3, "cache_read_input_tokens": 9 * 10**11}
    usage["cache_creation_input_tokens"] = 9 * 10**10
    taken, _ = await charged(tmp_path, Act(usage=usage), "anthropic")
    assert taken.input_tokens in WHOLE[0]
    assert taken.cached_input_tokens + taken.cache_write_tokens <= taken.input_tokens


@pytest.mark.parametrize(
    ("wire", "body", "tokens"),
    [
        ("chat", {"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 90}}, 990),
        ("chat", {"choices": []}, NO_COUNT[0]),
        ("chat", message(7), NO_COUNT[0]),
        ("chat", HTML, NO_COUNT[0]),
        ("chat", "[" * 100_000, NO_COUNT[0]),
        ("chat", f'{{"usage": {{"prompt_tokens": {"9" * 5000}}}}}', NO_COUNT[0]),
        ("chat", " " * 65_000_000, NO_COUNT[0]),
        ("responses", {"output": 7, "usage": {"input_tokens": 9, "output_tokens": 1}}, 10),
        (
            "responses",
            {"output": [], "status": "failed", "usage": {"input_tokens": 9, "output_tokens": 1}},
            10,
        ),
        ("responses", {"output": [], "status": "failed"}, NO_COUNT[0]),
        ("anthropic", {"content": None, "usage": {"input_tokens": 9, "output_tokens": 1}}, 10),
        ("anthropic", [], NO_COUNT[0]),
        (
            "chat",
            chat(choices=[{"finish_reason": "length", "message": {"content": "cut"}}]),
            range(1000 + LIMIT, 1500 + LIMIT),
        ),
    ],
)
async def test_an_answer_that_cannot_be_used_is_charged(
    tmp_path: Path, wire: str, body: object, tokens: int | range
) -> None:
    raw = body if isinstance(body, str) else json.dumps(body)
    taken, done = await charged(tmp_path, Act(kind="raw", text=raw), wire)
    assert isinstance(done, ModelError)
    assert "\n" not in str(done)
    assert taken.calls == 1
    total = taken.input_tokens + taken.output_tokens
    assert total in (range(tokens, tokens + 1) if isinstance(tokens, int) else tokens)


def half(text: str) -> Act:
    return Act(kind="raw", text=json.dumps(message("?")).replace('"?"', f'"{text}"'))


HALF = r"\ud83d"
POISONS = {
    "half a pair": half(f"It is {HALF}."),
    "half a pair in JSON": half(r"{\"probability\": \"" + HALF + r"\"}"),
    "half a pair in a key twice": half(r"{\"" + HALF + r"\": 1, \"" + HALF + r"\": 1}"),
    "brackets": Act(kind="raw", text="[" * 100_000),
    "brackets in the reply": half("[" * 100_000),
    "objects in the reply": half(r"{\"a\":" * 50_000),
    "half a pair refused": Act(
        kind="raw",
        text=json.dumps(chat(choices=[{"message": {"refusal": "?"}}])).replace("?", HALF),
    ),
    "brackets in an error": Act(
        kind="status", status=400, body={"error": json.loads("[" * 900 + "]" * 900)}
    ),
}


@pytest.mark.parametrize("poison", POISONS)
@pytest.mark.parametrize("paid", [True, False])
async def test_a_poisoned_reply_fails_its_question_alone_and_is_asked_again(
    tmp_path: Path, poison: str, paid: bool
) -> None:
    with LoopbackServer(canned({"Verbalized": GOOD})) as server:
        sampling = {"max_output_tokens": LIMIT}
        settings = settings_of(server, "chat", paid=paid, sampling=sampling)
        for again in (2, 2, 0):  # the last time the server is well
            server.script(*[POISONS[poison]] * again)
            with CallCache(tmp_path, stage="test") as cache:
                account = Account(cache.ledger(), PriceTable())
                limits = BudgetLimits(tokens=10**6)
                made = Gateway(
                    make_provider(settings),
                    settings,
                    cache,
                    packaged_prompts(),
                    budget=Budget(limits, account, settings.full_name) if paid else None,
                    retries=0,
                )
                asked = made.ask(VERBALIZED, question="Q", claim="C")
                if again:
                    with pytest.raises(ModelError) as caught:
                        await asked
                    str(caught.value).encode()
                    assert "\n" not in str(caught.value)
                    assert len(str(caught.value)) < 2000
                    server._acts.clear()
                else:
                    assert (await asked).text == GOOD
                assert (await made.ask(VERBALIZED, question="Q", claim="other")).text == GOOD
                await made.close()


async def test_absurd_counts_end_no_run_and_are_read_again(tmp_path: Path) -> None:
    """Two replies to one call: the sum of their counts is larger than any count."""
    usage = {"prompt_tokens": 9 * 10**11, "completion_tokens": 9 * 10**11}
    with LoopbackServer(canned({"Verbalized": GOOD})) as server:
        server.script(Act(text="no JSON", usage=usage), Act(text=GOOD, usage=usage))
        settings = settings_of(server, "chat")
        for cached in (False, True):
            with CallCache(tmp_path, stage="test") as cache:
                made = Gateway(make_provider(settings), settings, cache, packaged_prompts())
                done = await made.ask(VERBALIZED, question="Q", claim="C")
                await made.ask(VERBALIZED, question="Q", claim="other")
                assert (done.text, done.cached) == (GOOD, cached)
                assert cache.export(tmp_path / "calls.parquet") == 2
                await made.close()
    total = sum([Usage(calls=1, input_tokens=10**12)] * 5, Usage())
    assert Usage.model_validate_json(total.model_dump_json()).calls == 5


def tokens_with(key: str) -> list[Any]:
    told = [{"token": key, "logprob": -1.0}, {"token": f"a {key} b {HALF}", "logprob": -2.0}]
    return [{"token": f"{key}!", "logprob": -0.5, "top_logprobs": told}]


@pytest.mark.parametrize("wire", ["chat", "responses"])
async def test_the_key_is_in_no_log_probability_and_no_version(wire: str, tmp_path: Path) -> None:
    content = tokens_with(KEY)
    choice = {"message": {"content": "S"}, "logprobs": {"content": content}}
    part = {"type": "output_text", "text": "S", "logprobs": content}
    output = [{"type": "message", "content": [part]}]
    body = {"choices": [choice], "output": output, "model": f"{KEY} {HALF}" + "m" * 10**6}
    raw = json.dumps(body).replace(r"\\ud83d", HALF)
    with LoopbackServer(canned({None: "S"}), [Act(kind="raw", text=raw)]) as server:
        settings = settings_of(server, wire, sampling={"top_logprobs": 2})
        with CallCache(tmp_path / "calls", stage="test") as cache:
            made = Gateway(make_provider(settings), settings, cache, packaged_prompts())
            done = await made.ask(CLOSED_BOOK, question="Q")
            assert cache.export(tmp_path / "calls.parquet") == 1
            await made.close()
    assert [token for token, _ in done.first_tokens] == ["***!", "***", "a *** b ?"]
    assert len(done.model_version) <= 300
    assert KEY.encode() not in bytes_below(tmp_path)


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
