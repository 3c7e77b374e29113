"""A bad line of results fails alone, and an odd reply that is paid is charged as a live one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from simulrag.calls import CallCache
from simulrag.errors import CallsPending, ModelError, ModelUnavailable
from simulrag.models.batch.rounds import BatchBudget, fetch, read_files, submit
from simulrag.models.budget import Account
from simulrag.models.pending import FAILED
from simulrag.models.prices import PriceTable
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import BudgetLimits
from simulrag.testing import LoopbackServer
from simulrag.testing.loopback import Act
from tests.integration.batches import ANSWERS, free, stage, turn
from tests.unit.models.test_hostile_servers import CHAT, COMMON, MESSAGES, RESPONSES

CACHED = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
TEXT = {"text": '{"probability": 0.5}'}


pytestmark = pytest.mark.usefixtures("planted_key")


def answered(wire: str, id: str, body: object) -> dict[str, Any]:
    """A result's line of a call that the provider took for answered."""
    if wire == "anthropic":
        return {"custom_id": id, "result": {"type": "succeeded", "message": body}}
    return {"custom_id": id, "response": {"status_code": 200, "body": body}}


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        *(("chat", body) for body in [*COMMON, *CHAT]),
        *(("responses", body) for body in [*COMMON, *RESPONSES]),
        *(("anthropic", body) for body in [*COMMON, *MESSAGES]),
        ("chat", {"choices": [{"message": {"content": [1]}}]}),
        ("anthropic", {"content": [], "usage": dict.fromkeys(CACHED, 10**12 - 1)}),
    ],
)
async def test_an_odd_reply_that_is_paid_is_what_it_is_to_a_live_call(
    tmp_path: Path, wire: str, body: object
) -> None:
    raw = body if isinstance(body, str) else json.dumps(body)
    with LoopbackServer(ANSWERS, [Act(kind="raw", text=raw)]) as server:
        work = stage(tmp_path, server, wire)
        await work.ask("a")
        (call,) = work.store.calls()
        live = make_provider(work.settings)
        met: Any = None
        try:
            met = await live.call([], None, work.settings.sampling_of(""), 0)
        except ModelError as error:
            met = error
        await live.close()
    file = tmp_path / "out.jsonl"
    file.write_text(json.dumps(answered(wire, call.id, body)))
    report = read_files(work.store, [file])
    assert (report.answered, report.again, report.refused) == (1, 0, ())
    (reply,) = (call.reply for call in work.store.calls())
    assert reply is not None
    assert reply.usage == met.usage
    assert report.failed == isinstance(met, ModelError)
    if report.failed:
        assert isinstance(met, FAILED[reply.failure_kind])
        assert reply.usage.calls == 1
    else:
        assert reply.text == met.text


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        ("chat", {"choices": [{"message": {"content": [1]}}]}),
        ("responses", "text"),
        ("anthropic", None),
    ],
)
async def test_it_is_charged_once_and_fails_its_question_once(
    tmp_path: Path, server: LoopbackServer, wire: str, body: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = stage(tmp_path, server, wire)
    work.settings = work.settings.model_copy(update={"paid": True})
    limits = BudgetLimits(tokens=10**6)
    capped = work.settings.sampling.model_copy(update={"max_output_tokens": 500})
    work.settings = work.settings.model_copy(update={"sampling": capped})
    await work.ask("a")
    (call,) = work.store.calls()
    list(submit(work.store, free, again=False))
    line = json.dumps(answered(wire, call.id, body))
    turn(server, monkeypatch, lambda m, p, a: (200, line) if isinstance(a[1], str) else None)
    report, _ = fetch(work.store)
    assert (report.answered, report.failed, report.again) == (1, 1, 0)
    (found,) = await work.ask("a", budget=limits)
    assert isinstance(found, ModelUnavailable)
    with CallCache(work.folder, stage="look") as cache:
        account = Account(cache.ledger(), PriceTable())
        account.update()
    assert account.spent.tokens > 100
    assert isinstance((await work.ask("a", budget=limits))[0], CallsPending)


BAD: list[tuple[str, str, str]] = [
    # The wire, the line about the call ID (in its place), and what is said.
    ("chat", "{broken", "not JSON"),
    ("chat", '{"custom_id": "\\ud800"}', "of another form"),
    ("chat", '{"custom_id": "../call"}', "of another form"),
    ("chat", '{"custom_id": "ID", "text": %s}' % ("1" * 5000), "digits"),
    ("chat", '{"custom_id": "ID", "response": {"status_code": [5]}}', "ID is none: .*status_code"),
    ("chat", '{"custom_id": "ID", "response": {"status_code": true}}', "ID is none"),
    ("responses", '{"custom_id": "ID", "response": 7}', "ID is none"),
    ("anthropic", '{"custom_id": "ID", "result": {"type": ["x"]}}', "ID is none"),
    ("anthropic", '{"custom_id": "ID", "result": 7}', "ID is none"),
]
FAILED_THERE = [
    {"type": "errored", "error": {"error": "text"}},
    {"type": "errored", "error": {"type": ["x"]}},
    {"type": "errored", "error": 5},
]
BAD += [("anthropic", json.dumps({"custom_id": "ID", "result": r}), "") for r in FAILED_THERE]


@pytest.mark.parametrize(("wire", "bad", "said"), BAD)
@pytest.mark.parametrize("way", ["batch", "file"])
async def test_a_bad_line_fails_alone(
    tmp_path: Path,
    server: LoopbackServer,
    wire: str,
    bad: str,
    said: str,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = stage(tmp_path, server, wire)
    await work.ask("a", "b", "c")
    ids = [call.id for call in work.store.calls()]
    lines = [json.dumps({"custom_id": id, **TEXT}) for id in ids[1:]]
    text = "\n".join([bad.replace("ID", ids[0]), *lines])
    if way == "file":
        file = tmp_path / "out.jsonl"
        file.write_text(text)
        report = read_files(work.store, [file])
    else:
        list(submit(work.store, free, again=False))
        turn(server, monkeypatch, lambda m, p, a: (200, text) if isinstance(a[1], str) else None)
        report, _ = fetch(work.store)
        assert work.store.batches() == []
    assert report.answered == 2
    assert len(report.refused) == bool(said)
    pattern = "line 1: .*" + said.replace("ID", ids[0])
    assert all(re.search(pattern, one) and "\n" not in one for one in report.refused)
    assert work.calls == {"waiting": 1, "sent": 0, "answered": 2}


@pytest.mark.parametrize("bad", [b"\xff\xfe", b'{"custom_id": "\xb5"}', b"\x1f\x8b\x08"])
async def test_what_is_no_utf8_fails_its_line_alone(tmp_path: Path, bad: bytes) -> None:
    work = stage(tmp_path, None, "chat")
    await work.ask("a")
    (call,) = work.store.calls()
    file = tmp_path / "out.jsonl"
    file.write_bytes(bad + b"\n" + json.dumps({"custom_id": call.id, **TEXT}).encode())
    report = read_files(work.store, [file])
    assert report.answered == 1
    assert report.refused == ("out.jsonl, line 1: not UTF-8 text",)


async def test_a_reply_that_nobody_bounds_comes_in_and_is_left_to_its_stage(tmp_path: Path) -> None:
    work = stage(tmp_path, None, "chat")
    work.settings = work.settings.model_copy(update={"paid": True})
    await work.ask("a")
    (call,) = work.store.calls()
    body = {"choices": [{"message": {"content": TEXT["text"]}}], "model": "m"}
    file = tmp_path / "out.jsonl"
    file.write_text(json.dumps(answered("chat", call.id, body)))
    with CallCache(work.folder, stage="test") as cache:
        budget = BatchBudget(BudgetLimits(usd=1), Account(cache.ledger(), PriceTable()))
        assert read_files(work.store, [file], budget.bill).answered == 1
        assert cache.ledger().news() == []
    (call,) = work.store.calls()
    assert call.reply is not None
    assert not call.reply.billed
