"""What a server may not do with batches: they go by the door of live calls.

Each line of results has a size and a time; what came before a bad one is kept.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from simulrag.calls import CallCache
from simulrag.errors import CallsPending, ModelUnavailable, SimulRAGError
from simulrag.models.batch.lines import provider_of
from simulrag.models.batch.rounds import BatchBudget, fetch, read_files, status, submit
from simulrag.models.budget import Account
from simulrag.models.prices import PriceTable
from simulrag.models.settings import BudgetLimits
from simulrag.testing import LoopbackServer, loopback
from simulrag.testing.loopback import Act
from tests.integration.batches import (
    ANSWERS,
    KEY,
    TWO_WIRES,
    Answer,
    Stage,
    free,
    holding,
    paid,
    stage,
    turn,
)

pytestmark = pytest.mark.usefixtures("planted_key")


@pytest.fixture
def other() -> Iterator[LoopbackServer]:
    with LoopbackServer(ANSWERS) as running:
        yield running


def listened(other: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What another host is asked."""
    asked: list[str] = []
    turn(other, monkeypatch, lambda method, path, _: asked.append(f"{method} {path}"))
    return asked


def elsewhere(other: LoopbackServer) -> str:
    return other.url.replace("127.0.0.1", "127.0.0.2")


@pytest.mark.parametrize("wire", TWO_WIRES)
@pytest.mark.parametrize("step", ["submit", "status", "results", "results_url"])
async def test_no_other_host_is_asked_about_a_batch(
    tmp_path: Path,
    server: LoopbackServer,
    other: LoopbackServer,
    wire: str,
    step: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = listened(other, monkeypatch)
    work = stage(tmp_path, server, wire)
    await work.ask("a")

    def evil(method: str, path: str, answer: Answer) -> Answer | None:
        kind = "results" if path.endswith(("/results", "/content")) else "status"
        if step == ("submit" if method == "POST" else kind):
            return 307, {}, {"Location": elsewhere(other) + path.removeprefix("/v1")}
        if step == "results_url" and "results_url" in answer[1]:
            return 200, {**answer[1], "results_url": elsewhere(other) + "/steal"}
        return None

    if step == "submit":
        turn(server, monkeypatch, evil)
        with pytest.raises(ModelUnavailable, match="another host"):
            list(submit(work.store, free, again=False))
    else:
        list(submit(work.store, free, again=False))
    turn(server, monkeypatch, evil)
    if step == "results_url" and wire == "responses":  # it has none
        assert fetch(work.store)[0].answered == 1
    elif step != "submit":
        assert "another host" in problem_of(work)
    assert (asked, other.requests) == ([], [])


def problem_of(work: Stage) -> str:
    """What an import says of the only batch: one line."""
    (batch,) = fetch(work.store)[1]
    assert "\n" not in batch.problem
    return batch.problem


def drip(handler: BaseHTTPRequestHandler) -> None:
    handler.end_headers()
    for _ in range(300):
        handler.wfile.write(b" ")
        time.sleep(0.2)


def short_lines(handler: BaseHTTPRequestHandler) -> None:
    handler.end_headers()
    for _ in range(100_000):
        handler.wfile.write(b"{}\n")


def no_gzip(handler: BaseHTTPRequestHandler) -> None:
    handler.send_header("content-encoding", "gzip")
    handler.end_headers()
    handler.wfile.write(b"plain")


@pytest.mark.parametrize("wire", TWO_WIRES)
@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(drip, "took too long", marks=pytest.mark.slow),
        (short_lines, "more results"),
        (no_gzip, "broke off"),
    ],
)
async def test_results_have_an_end_and_a_time_and_what_came_before_is_kept(
    tmp_path: Path,
    server: LoopbackServer,
    wire: str,
    body: Callable[[BaseHTTPRequestHandler], None],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = stage(tmp_path, server, wire)
    await work.ask("a", "b")
    list(submit(work.store, free, again=False))
    (batch,) = work.store.batches()
    provider = provider_of(batch.target)
    provider.timeout_s, provider.reply_mb = 1.0 if body is drip else 60.0, 1.0
    first: list[bytes] = []
    get = loopback._Handler.do_GET

    def evil(handler: loopback._Handler) -> None:
        if not handler.path.endswith(("/results", "/content")):
            get(handler)
            return
        text = str(server.batches.handle("GET", handler.path, "", b"", "")[1])
        first.append(text.splitlines(keepends=True)[0].encode())
        handler.send_response(200)
        handler.send_header("connection", "close")
        handler.close_connection = True
        if body is drip:
            write = handler.end_headers

            def begun() -> None:
                write()
                handler.wfile.write(first[0])

            monkeypatch.setattr(handler, "end_headers", begun)
        with suppress(OSError):
            body(handler)

    monkeypatch.setattr(loopback._Handler, "do_GET", evil)
    for _ in range(2):  # again is no better and no worse
        assert said in problem_of(work)
        assert work.calls["answered"] == (body is drip)
    monkeypatch.setattr(loopback._Handler, "do_GET", get)
    assert fetch(work.store)[0].answered == 2 - (body is drip)
    assert await work.ask("a", "b") == [0.5, 0.5]


@pytest.mark.parametrize("wire", TWO_WIRES)
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("place", ["first", "middle", "last"])
async def test_a_line_too_long_is_left_out_and_its_call_waits_again(
    tmp_path: Path,
    server: LoopbackServer,
    wire: str,
    packed: bool,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = stage(tmp_path, server, wire)
    await work.ask("a", "b", "c")
    list(submit(work.store, free, again=False))
    (batch,) = work.store.batches()
    provider_of(batch.target).reply_mb = 0.1
    get = loopback._Handler.do_GET
    number = {"first": 0, "middle": 1, "last": 2}[place]

    def evil(handler: loopback._Handler) -> None:
        if not handler.path.endswith(("/results", "/content")):
            get(handler)
            return
        lines = str(server.batches.handle("GET", handler.path, "", b"", "")[1]).splitlines()
        lines[number] = "[" + "1," * 250_000 + lines[number]
        content = "\n".join(lines).encode()
        handler.send_response(200)
        if packed:
            content = gzip.compress(content)
            handler.send_header("content-encoding", "gzip")
        handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    monkeypatch.setattr(loopback._Handler, "do_GET", evil)
    report, (standing,) = fetch(work.store)
    assert (report.answered, report.again, standing.problem) == (2, 1, "")
    assert report.refused == (f"{batch.name}, line {number + 1}: larger than 0.1 MB",)
    assert (work.store.batches(), work.calls["waiting"]) == ([], 1)


ODD: list[Any] = [
    "[" * 100_000,
    "{" + '"a":{' * 50_000,
    "null",
    "7",
    '"text"',
    "[]",
    "{}",
    "<html>",
]


@pytest.mark.parametrize("wire", TWO_WIRES)
@pytest.mark.parametrize("step", ["submit", "status", "results"])
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd[:9])
async def test_an_odd_body_about_a_batch_is_one_line(
    tmp_path: Path,
    server: LoopbackServer,
    wire: str,
    step: str,
    odd: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = stage(tmp_path, server, wire)
    await work.ask("a")
    if step != "submit":
        list(submit(work.store, free, again=False))

    def evil(method: str, path: str, answer: Answer) -> Answer | None:
        result = path.endswith(("/results", "/content"))
        meant = "submit" if method == "POST" else "results" if result else "status"
        return (200, odd) if meant == step else None

    turn(server, monkeypatch, evil)
    what = {"submit": lambda: list(submit(work.store, free, again=False)), "status": status}
    said = []
    try:
        done = (
            (what[step](*([work.store] * (step == "status"))))
            if step in what
            else fetch(work.store)
        )
        said = list(done[0].refused) if step == "results" else [item.problem for item in done]
    except SimulRAGError as error:
        said = [str(error)]
    assert all("\n" not in line and len(line) < 1000 for line in said)
    assert any(said) or (step, odd) == ("status", "{}")  # a batch whose state is not known
    assert work.rows() == []


@pytest.mark.parametrize("wire", TWO_WIRES)
async def test_a_batch_that_ended_without_results_is_one_line(
    tmp_path: Path, server: LoopbackServer, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = stage(tmp_path, server, wire)
    await work.ask("a")
    list(submit(work.store, free, again=False))
    none = {"results_url": None, "output_file_id": None}
    turn(
        server,
        monkeypatch,
        lambda method, path, answer: (
            (200, {**answer[1], **none}) if isinstance(answer[1], dict) else None
        ),
    )
    if wire == "responses":
        assert fetch(work.store)[0].again == 1
    else:
        assert "results_url" in problem_of(work)


@pytest.mark.parametrize("wire", TWO_WIRES)
async def test_no_field_about_a_batch_brings_the_key(
    tmp_path: Path,
    server: LoopbackServer,
    wire: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An id cannot be used without it: the batch is then not found, which is one line."""
    work = stage(tmp_path, server, wire)
    await work.ask("a", "b")

    def told(method: str, path: str, answer: Answer) -> Answer | None:
        if isinstance(answer[1], str):
            escaped = "\\u0073" + KEY[1:]
            odd = {"custom_id": KEY, "response": {"body": {}, "status_code": 200}}
            return 200, answer[1] + json.dumps(odd) + "\n" + json.dumps(odd).replace(KEY, escaped)
        states = {"status": f"in {KEY} \ud83d", "processing_status": f"in {KEY}"}
        ids = {"id": f"{KEY} {KEY}"} if method == "POST" and "files" not in path else {}
        return 200, {**answer[1], **{k: v for k, v in states.items() if k in answer[1]}, **ids}

    handle = server.batches.handle
    turn(server, monkeypatch, told)
    (sent,) = submit(work.store, free, again=False)
    assert sent.provider_id == "*** ***"
    (batch,) = work.store.batches()
    work.store.put_batch(batch.model_copy(update={"provider_id": next(iter(server.batches.held))}))
    (standing,) = status(work.store)
    assert standing.state is not None
    assert standing.state.status.startswith("in ***")
    assert not holding(tmp_path, KEY)
    monkeypatch.setattr(server.batches, "handle", handle)
    turn(server, monkeypatch, lambda m, p, a: told(m, p, a) if isinstance(a[1], str) else None)
    report, _ = fetch(work.store)
    assert (report.answered, len(report.refused)) == (2, 2)
    assert KEY not in str(report)
    assert not holding(tmp_path, KEY)
    file = tmp_path / "out.jsonl"
    file.write_text(json.dumps({"custom_id": KEY, "text": "x"}))
    assert KEY not in str(read_files(work.store, [file]))


USAGE: list[tuple[Any, range]] = [
    ({}, range(100, 2000)),
    ({"input_tokens": None, "output_tokens": 3}, range(100, 2000)),
    ({"input_tokens": 6 * 10**11, "output_tokens": 3}, range(1000, 9000)),
    ({"input_tokens": 150, "output_tokens": 10**11}, range(650, 651)),
    ({"input_tokens": 150, "output_tokens": 30}, range(180, 181)),
]


@pytest.mark.parametrize("wire", TWO_WIRES)
@pytest.mark.parametrize(("usage", "tokens"), USAGE)
@pytest.mark.parametrize("usable", [True, False])
async def test_what_came_by_a_batch_is_charged_what_it_can_have(
    tmp_path: Path,
    server: LoopbackServer,
    wire: str,
    usage: dict[str, Any],
    tokens: range,
    usable: bool,
) -> None:
    """Before a stage takes it (the next batch must fit beside it), and after."""
    work = paid(tmp_path, server, wire)
    limits = BudgetLimits(tokens=10**6)
    await work.ask("a")
    list(submit(work.store, free, again=False))
    server.script(Act(usage=usage))
    if not usable:  # it was billed and answers nothing
        wires = loopback.WIRES["/v1/messages" if wire == "anthropic" else "/v1/responses"]
        nothing = {"content": None} if wire == "anthropic" else {"output": [], "status": "failed"}
        path = "/v1/messages" if wire == "anthropic" else "/v1/responses"
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(loopback.WIRES, path, lambda act, body: wires(act, body) | nothing)
            report, _ = fetch(work.store)
    else:
        report, _ = fetch(work.store)
    assert (report.answered, report.failed) == (1, not usable)
    with CallCache(work.folder, stage="look") as cache:
        account = Account(cache.ledger(), PriceTable())
        budget = BatchBudget(limits, account)
        before = budget._sum(work.store.calls()).tokens
        asked = await work.ask("a", budget=limits)
        account.update()
    assert before in tokens
    assert account.spent.tokens == before
    if usable:
        assert asked == [0.5]
    else:
        assert isinstance(asked[0], ModelUnavailable)
        assert isinstance((await work.ask("a"))[0], CallsPending)  # asked again


async def test_a_file_by_hand_costs_nothing_and_locks_no_budget(
    tmp_path: Path, server: LoopbackServer
) -> None:
    for usage, most in (({}, 0), ({"input_tokens": 9 * 10**11}, 9000)):
        work = paid(tmp_path / str(most), server, "responses")
        await work.ask("a")
        (call,) = work.store.calls()
        file = tmp_path / "replies.jsonl"
        line = {"custom_id": call.id, "text": '{"probability": 0.5}', "usage": usage}
        file.write_text(json.dumps(line))
        assert read_files(work.store, [file]).answered == 1
        assert await work.ask("a", budget=BudgetLimits(tokens=10**6)) == [0.5]
        with CallCache(work.folder, stage="look") as cache:
            account = Account(cache.ledger(), PriceTable())
            account.update()
        assert account.spent.tokens <= most
        assert (account.spent.tokens > 0) == bool(most)
