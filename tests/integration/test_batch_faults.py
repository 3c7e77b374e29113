"""A batch that cannot be had holds up no other, and there is a way on without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from simulrag.errors import InputError, ModelUnavailable
from simulrag.models.batch.rounds import fetch, give_up, submit
from simulrag.testing import LoopbackServer
from tests.integration.batches import ANSWERS, KEY, TWO_WIRES, Answer, Evil, free, stage, turn
from tests.integration.projects import PARAMS
from tests.integration.terminal import Opened

pytestmark = pytest.mark.usefixtures("planted_key")


def about(part: str, status: int, change: Callable[[Any], Any]) -> Evil:
    """A server that answers otherwise about ``part`` of the way: status or results."""

    def evil(method: str, path: str, answer: Answer) -> Answer | None:
        asked = "results" if path.endswith(("/results", "/content")) else "status"
        return (status, change(answer[1])) if (method, asked) == ("GET", part) else None

    return evil


GONE = {"error": {"message": "no such batch", "type": "not_found_error"}}


@pytest.mark.parametrize(
    ("wire", "evil", "said"),
    [
        *((wire, about("status", 404, lambda _: GONE), "404") for wire in TWO_WIRES),
        *((wire, about("results", 404, lambda _: GONE), "404") for wire in TWO_WIRES),
        ("chat", about("results", 500, lambda _: {"error": {"type": ["x"]}}), "500"),
        ("chat", about("status", 200, lambda was: {**was, "status": ["x"]}), "another shape"),
        ("anthropic", about("results", 200, lambda was: "{}\n" * 9 + was), "more results"),
        *(
            ("anthropic", about("status", 200, lambda was, url=url: was | {"results_url": url}), "")
            for url in ("http://[::1", "http://a:b/", "http://\u2028/", ["x"], None, "")
        ),
    ],
)
async def test_a_batch_that_cannot_be_had_holds_up_no_other_and_can_be_given_up(
    tmp_path: Path, wire: str, evil: Evil, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LoopbackServer(ANSWERS) as bad, LoopbackServer(ANSWERS) as good:
        work = stage(tmp_path, bad, wire)
        await work.ask("a", "b")
        (lost,) = submit(work.store, free, again=False)
        other = stage(tmp_path, good, "responses" if wire == "anthropic" else "anthropic")
        await other.ask("c")
        list(submit(work.store, free, again=False))
        turn(bad, monkeypatch, evil)
        for answered in (1, 0):
            report, batches = fetch(work.store)
            assert report.answered == answered
            (problem,) = (item.problem for item in batches if item.problem)
            assert said in problem
            assert "\n" not in problem
        assert work.calls["sent"] == 2
        assert await other.ask("c") == [0.5]
        monkeypatch.undo()
        monkeypatch.setenv("LOOPBACK_KEY", KEY)
        assert give_up(work.store, lost.name) == 2
        assert (work.store.batches(), work.calls["waiting"]) == ([], 2)
        with pytest.raises(InputError, match="batch status"):
            give_up(work.store, lost.name)
        list(submit(work.store, free, again=False))
        assert fetch(work.store)[0].answered == 2
        assert await work.ask("a", "b") == [0.5, 0.5]


@pytest.mark.parametrize("wire", TWO_WIRES)
@pytest.mark.parametrize("id", [None, 7, ["x"]])
async def test_a_batch_without_an_id_may_have_been_made(
    tmp_path: Path, server: LoopbackServer, wire: str, id: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = stage(tmp_path, server, wire)
    await work.ask("a")

    def nameless(method: str, path: str, answer: Answer) -> Answer | None:
        return (200, answer[1] | {"id": id}) if path.endswith("batches") else None

    turn(server, monkeypatch, nameless)
    with pytest.raises(ModelUnavailable, match="another shape"):
        list(submit(work.store, free, again=False))
    with pytest.raises(InputError, match="Look at your account"):
        list(submit(work.store, free, again=False))
    assert len(server.batches.held) == 1


async def test_the_command_says_what_failed_with_exit_code_1_and_the_way_on(
    tmp_path: Path, server: LoopbackServer, terminal_in: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = yaml.safe_load(PARAMS.read_text())
    params["operations"]["cache"] = "calls"
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    terminal = terminal_in(tmp_path)
    work = stage(tmp_path, server, "responses")
    await work.ask("a")
    (sent,) = submit(work.store, free, again=False)
    turn(server, monkeypatch, about("status", 404, lambda _: GONE))
    for command in ("status", "import"):
        said = terminal("batch", command)
        assert said.code == 1
        assert said.err.count("\n") == 1
        assert f"batch drop {sent.name}" in said.err
        assert "paid, anew" in said.err
    assert terminal("batch", "drop", "other").code == 2
    assert "1 calls" in terminal.passes("batch", "drop", sent.name)
    assert work.calls["waiting"] == 1
    (tmp_path / "out.jsonl").write_text("{broken")
    said = terminal("batch", "import", "out.jsonl")
    assert said.code == 2
    assert "out.jsonl, line 1: not JSON" in said.err
