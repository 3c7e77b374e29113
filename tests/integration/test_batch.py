"""Mode deferred over real sockets: export, submit, status, import, and the same command again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from simulrag.calls import CallCache, export_cache, import_cache
from simulrag.errors import (
    BudgetMissing,
    BudgetSpent,
    CallsPending,
    EnvironmentFault,
    InputError,
    ModelError,
    ReplyInvalid,
    ReplyRefused,
    ReplyTruncated,
)
from simulrag.models.batch.lines import BatchLimits
from simulrag.models.batch.rounds import (
    BatchBudget,
    export,
    export_plain,
    fetch,
    read_files,
    status,
    submit,
)
from simulrag.models.budget import Account
from simulrag.models.pending import Batch
from simulrag.models.prices import Price, PriceTable
from simulrag.models.settings import BudgetLimits
from simulrag.records import Usage
from simulrag.testing.loopback import (
    CUT_OFF,
    HANG,
    MODEL_VERSION,
    LoopbackServer,
    fails,
    says,
)
from tests.integration.batches import ANSWERS, KEY, WIRES, Stage, free, holding, paid, stage

pytestmark = pytest.mark.usefixtures("planted_key")


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def read_lines(path: str) -> list[Any]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


async def test_a_round_by_the_sdk(tmp_path: Path, server: LoopbackServer, wire: str) -> None:
    work = stage(tmp_path, server, wire)
    assert all(isinstance(item, CallsPending) for item in await work.ask("a", "b", "a"))
    assert server.requests == []
    assert work.calls == {"waiting": 2, "sent": 0, "answered": 0}
    (sent,) = submit(work.store, free, again=False)
    assert (sent.requests, list(submit(work.store, free, again=False))) == (2, [])
    server.batches.hold = True
    (standing,) = status(work.store)
    assert standing.state is not None
    assert (standing.state.status, standing.state.ended) == ("in_progress", False)
    report, _ = fetch(work.store)
    assert report.answered == 0
    server.batches.hold = False
    report, _ = fetch(work.store)
    assert (report.answered, report.again, report.refused) == (2, 0, ())
    assert work.store.batches() == []
    assert await work.ask("a", "b") == [0.5, 0.5]
    assert work.calls == {"waiting": 0, "sent": 0, "answered": 0}
    rows = work.rows()
    assert {(row.service, row.model_version) for row in rows} == {("batch", MODEL_VERSION)}
    assert all(Usage.model_validate(row.usage).input_tokens > 10 for row in rows)
    assert len(server.requests) == 2
    assert not holding(tmp_path, KEY)


async def test_a_batch_sends_what_a_call_sends(
    tmp_path: Path, server: LoopbackServer, wire: str
) -> None:
    work = stage(tmp_path, server, wire)
    await work.ask("a")
    (written,) = export(work.store, tmp_path / "out")
    (line,) = read_lines(written.path)
    live = Stage(tmp_path / "live", work.settings, mode="normal")
    assert await live.ask("a") == [0.5]
    (request,) = server.requests
    assert line.get("body", line.get("params")) == request.body
    assert line.get("url", "/v1/messages") == request.path
    (row,) = live.rows()
    assert (line["custom_id"], row.service) == (row.key, "")


async def test_one_row_and_one_file_a_call_however_often(tmp_path: Path, wire: str) -> None:
    work = stage(tmp_path, None, wire)
    await work.ask("a", "b", "c")
    first = export(work.store, tmp_path / "out", BatchLimits(requests=2, size=100_000))
    assert [item.requests for item in first] == [2, 1]
    await work.ask("a", "b", "c")
    assert export(work.store, tmp_path / "out", BatchLimits(requests=2, size=100_000)) == first
    smaller = BatchLimits(requests=9, size=first[1].size_bytes + 1)
    assert [x.requests for x in export(work.store, tmp_path / "out", smaller)] == [1, 1, 1]
    with pytest.raises(InputError, match="more than a batch"):
        export(work.store, tmp_path / "out", BatchLimits(requests=9, size=10))


async def test_what_is_no_longer_asked_for_is_not_sent(tmp_path: Path) -> None:
    work = stage(tmp_path, None, "chat")
    await work.ask("a", "old wording")
    await work.ask("a")
    assert work.calls["waiting"] == 1


async def test_a_batch_that_partly_failed(
    tmp_path: Path, server: LoopbackServer, wire: str
) -> None:
    work = stage(tmp_path, server, wire)
    claims = [f"claim {i}" for i in range(6)]
    await work.ask(*claims)
    list(submit(work.store, free, again=False))
    server.script(
        fails(500), HANG, fails(400, f"too long for {KEY}"), CUT_OFF, says("no JSON at all")
    )
    report, _ = fetch(work.store)
    # Anthropic's tool input is always an object: what is no JSON arrives as one that does not fit.
    assert (report.answered, report.failed, report.again) == (4, 2, 2)
    assert not holding(tmp_path, KEY)  # the server quoted it
    found = await work.ask(*claims)
    assert sum(isinstance(item, ReplyRefused) for item in found) == 1
    (cut,) = (item for item in found if isinstance(item, ReplyTruncated))
    assert cut.usage is not None  # it was billed
    assert cut.usage.calls == 1
    assert found.count(0.5) == 1
    # Two go again, and the reply that does not fit goes back to the model once.
    assert sum(isinstance(item, CallsPending) for item in found) == 3
    list(submit(work.store, free, again=False))
    report, _ = fetch(work.store)
    assert report.answered == 3
    repair = server.requests[-3:]
    assert any("no JSON" in json.dumps(item.body) for item in repair) or wire == "anthropic"
    assert (await work.ask(*claims)).count(0.5) == 4
    repaired = [row for row in work.rows() if row.usage["calls"] == 2]
    assert [row.service for row in repaired] == ["batch"]
    # A failure is never stored: those two are asked once more.
    assert work.calls == {"waiting": 2, "sent": 0, "answered": 0}


async def test_two_replies_that_do_not_fit_fail_the_question(
    tmp_path: Path, server: LoopbackServer
) -> None:
    work = stage(tmp_path, server, "responses")
    for _ in range(2):
        (found,) = await work.ask("a")
        assert isinstance(found, CallsPending)
        list(submit(work.store, free, again=False))
        server.script(says('{"probability": "high"}'))
        fetch(work.store)
    (found,) = await work.ask("a")
    assert isinstance(found, ReplyInvalid)
    assert work.rows() == []
    assert sum(work.calls.values()) == 0


async def test_a_file_written_by_hand(tmp_path: Path, wire: str) -> None:
    work = stage(tmp_path, None, wire)
    await work.ask("a", "b", "c")
    ids = [call.id for call in work.store.calls()]
    lines = [
        {"custom_id": ids[0], "text": '{"probability": 0.25}'},
        {"custom_id": ids[1], "text": {"probability": 0.75}, "model": "me", "usage": {}},
        {"custom_id": ids[2], "text": {"probability": 1}, "usage": {"tokens": 3}},
        {"custom_id": "0" * 64, "text": "x"},
        {"custom_id": ids[2], "response": None} if wire == "anthropic" else {"custom_id": ids[2]},
        {"text": "x"},
    ]
    file = tmp_path / "replies.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{broken\n")
    report = read_files(work.store, [file])
    assert report.answered == 2
    why = ("usage", "was never asked", "no reply", "no custom_id", "not JSON")
    for number, (said, word) in enumerate(zip(report.refused, why, strict=True), start=3):
        assert f"replies.jsonl, line {number}: " in said
        assert word in said
    assert read_files(work.store, [file]).present == 2
    found = await work.ask("a", "b", "c")
    assert sorted(item for item in found if isinstance(item, float)) == [0.25, 0.75]
    assert {row.service for row in work.rows()} == {"file"}
    assert read_files(work.store, [file]).answered == 0


async def test_who_wrote_a_reply_comes_with_it_and_stays_through_exports(
    tmp_path: Path, wire: str
) -> None:
    work = stage(tmp_path, None, wire)
    await work.ask("a", "b", "c")
    ids = [call.id for call in work.store.calls()]
    told: list[dict[str, Any]] = [{"context": "writer-7"}, {"context": None}, {}]
    file = tmp_path / "replies.jsonl"
    text = '{"probability": 0.25}'
    lines = ({"custom_id": one, "text": text, **more} for one, more in zip(ids, told, strict=True))
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_files(work.store, [file]).answered == 3
    await work.ask("a", "b", "c")
    assert sorted(row.context for row in work.rows()) == ["", "", "writer-7"]
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    assert export_cache(work.folder, one) == 3
    import_cache(tmp_path / "other", one)
    assert export_cache(tmp_path / "other", two) == 3
    assert sorted(pl.read_parquet(two)["context"].to_list(), key=str) == [None, None, "writer-7"]
    assert one.read_bytes() == two.read_bytes()


async def test_an_altered_request_is_refused(tmp_path: Path, wire: str) -> None:
    work = stage(tmp_path, None, wire)
    await work.ask("a", "b")
    (written,) = export(work.store, tmp_path / "out")
    lines = read_lines(written.path)
    name = "params" if wire == "anthropic" else "body"
    lines[1][name]["temperature"] = 2
    file = tmp_path / "replies.jsonl"
    text = '{"probability": 0.25}'
    file.write_text("".join(json.dumps({**line, "text": text}) + "\n" for line in lines))
    report = read_files(work.store, [file])
    assert report.answered == 1
    (refused,) = report.refused
    assert "altered" in refused


async def test_a_submission_that_failed_or_was_cut_off(tmp_path: Path) -> None:
    work = stage(tmp_path, None, "chat")
    await work.ask("a")
    with pytest.raises(ModelError, match="no connection"):
        list(submit(work.store, free, again=False))
    assert work.calls["waiting"] == 1  # nobody was reached, so nothing was sent
    with LoopbackServer(ANSWERS) as server:
        moved = work.settings.model_copy(update={"base_url": server.url})
        work.settings = moved
        await work.ask("a")
        store = work.store
        (call,) = store.calls()
        store.put(call.model_copy(update={"batch": "cut"}))
        store.put_batch(Batch(name="cut", target=call.target, size=1))
        with pytest.raises(InputError, match="interrupted"):
            list(submit(store, free, again=False))
        (standing,) = status(store)
        assert standing.state is None
        assert len(list(submit(store, free, again=True))) == 1
        assert fetch(store)[0].answered == 1


async def test_a_missing_key_is_told_before_anything_is_sent(
    tmp_path: Path, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = stage(tmp_path, server, "responses")
    monkeypatch.delenv("LOOPBACK_KEY")
    await work.ask("a")
    assert len(export(work.store, tmp_path / "out")) == 1
    with pytest.raises(EnvironmentFault, match="LOOPBACK_KEY"):
        list(submit(work.store, free, again=False))
    assert work.calls["waiting"] == 1


async def test_a_batch_is_sent_within_the_budget_alone(
    tmp_path: Path, server: LoopbackServer
) -> None:
    work = paid(tmp_path, server, "chat", most=1000)
    await work.ask("a", "b")
    price = Price(provider="openai", model="m/1", input=0, output=100, as_of="2026-01")
    prices = PriceTable(batch_share=0.5, models=(price,))

    def send(**limits: float) -> int:
        with CallCache(work.folder, stage="test") as cache:
            budget = BatchBudget(
                BudgetLimits.model_validate(limits), Account(cache.ledger(), prices)
            )
            return len(list(submit(work.store, budget.check, again=False)))

    with pytest.raises(BudgetMissing, match="2 calls to openai:m/1 costs money"):
        send()
    with pytest.raises(BudgetSpent, match=r"may cost up to 0\.10 USD"):
        send(usd=0.09)
    assert (server.requests, work.calls["waiting"]) == ([], 2)
    assert send(usd=0.11) == 1
    await work.ask("c")
    with pytest.raises(BudgetSpent, match=r"0\.10 USD and .* in batches"):
        send(usd=0.11)
    fetch(work.store)
    assert send(usd=0.11) == 1  # the replies cost less than their bound


@pytest.mark.parametrize("taken", [True, False], ids=["taken", "asked for no more"])
async def test_a_reply_is_in_the_ledger_from_its_import_on_and_once(
    tmp_path: Path, server: LoopbackServer, taken: bool
) -> None:
    work = paid(tmp_path, server, "chat", most=1000)
    await work.ask("a", "b")
    list(submit(work.store, free, again=False))

    def account() -> tuple[int, int, int]:
        with CallCache(work.folder, stage="test") as cache:
            known = Account(cache.ledger(), PriceTable())
            budget = BatchBudget(BudgetLimits(tokens=10**6), known)
            answered = fetch(work.store, budget.bill)[0].answered
            known.update()
            batches = budget._sum(work.store.calls()).tokens
            return answered, known.spent.tokens + batches, known.calls

    answered, tokens, calls = account()
    assert (answered, calls) == (2, 2)
    limits = BudgetLimits(tokens=10**6)
    assert await work.ask(*("ab" if taken else ""), budget=limits) == [0.5, 0.5] * taken
    assert account() == (0, tokens, 2)


async def test_calls_go_out_as_plain_lines_and_replies_come_back(tmp_path: Path) -> None:
    work = stage(tmp_path, None, "anthropic")
    await work.ask("a", "b")
    file = tmp_path / "out" / "calls.jsonl"
    assert export_plain(work.store, file) == 2
    lines = read_lines(str(file))
    assert all(
        set(line) == {"custom_id", "stage", "task", "sample_index", "messages", "schema"}
        for line in lines
    )
    assert {(line["stage"], line["task"]) for line in lines} == {("test", "verbalized")}
    assert lines[0]["schema"]["title"] == "Verbalized"
    replies = tmp_path / "replies.jsonl"
    reply = {"text": '{"probability": 0.5}', "model": "someone"}
    replies.write_text(
        "".join(json.dumps({"custom_id": line["custom_id"], **reply}) + "\n" for line in lines)
    )
    assert read_files(work.store, [replies]).answered == 2
    assert await work.ask("a", "b") == [0.5, 0.5]
    assert {row.model_version for row in work.rows()} == {"someone"}
    assert export_plain(work.store, file) == 0
