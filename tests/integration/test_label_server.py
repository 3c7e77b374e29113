"""The labelling server over real HTTP, and its page in a real browser."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulrag.errors import EnvironmentFault
from simulrag.evaluation.human.server import LabelServer
from simulrag.evaluation.human.session import Session
from simulrag.evaluation.human.store import LabelStore
from simulrag.records import claim_hash
from tests.servers.browser import CHROMIUM, NO_CHROMIUM, Page, browser
from tests.unit.evaluation.people import given, offer

HOSTILE = "<img src=x onerror=alert(1)> </script> & {{ 7*7 }}"
TEXTS = ("Time rises.", "Time falls.", HOSTILE)


@pytest.fixture
def store(tmp_path: Path) -> LabelStore:
    return LabelStore(tmp_path / "human.sqlite")


@pytest.fixture
def server(store: LabelStore) -> Iterator[LabelServer]:
    offers = [offer(text, f"q{place}") for place, text in enumerate(TEXTS)]
    with LabelServer(Session(offers, store), 0) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def ask(
    server: LabelServer, method: str, path: str, body: object = None, **headers: str
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, content if method == "POST" else None, named)
    reply = connection.getresponse()
    found = reply.read()
    connection.close()
    assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
    return reply.status, json.loads(found) if "json" in reply.headers["Content-Type"] else found


def click(server: LabelServer, place: int = 0, **changes: Any) -> tuple[int, Any]:
    body = {
        "annotator": "ann",
        "question_id": f"q{place}",
        "claim_hash": claim_hash(TEXTS[place]),
        "label": "true",
        "expected": None,
        **changes,
    }
    origin = server.address.rstrip("/")
    return ask(server, "POST", "/label", body, Origin=origin, Content_Type="application/json")


def test_it_listens_on_this_machine_alone(server: LabelServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    with pytest.raises(EnvironmentFault, match="--port"):
        LabelServer(server.session, server.server_port)


def test_every_click_is_on_disk_when_it_is_answered(server: LabelServer, store: LabelStore) -> None:
    status, state = click(server, note=" plainly ")
    assert (status, state["mine"]) == (200, {"label": "true", "note": "plainly"})
    expected = given("ann", "true", TEXTS[0], "q0", note="plainly")
    assert LabelStore(store.path).labels() == [expected]
    assert ask(server, "GET", "/state?annotator=ann")[1][0]["mine"]["label"] == "true"
    assert click(server, label=None, expected="true")[1]["mine"] is None
    assert store.labels() == []


def test_another_persons_label_is_not_told(server: LabelServer) -> None:
    click(server)
    _, states = ask(server, "GET", "/state?annotator=bob")
    assert states[0] == {"mine": None, "others": 1, "disputed": None, "settled": None}
    _, claims = ask(server, "GET", "/claims")
    assert [claim["text"] for claim in claims["claims"]] == list(TEXTS)
    assert claims["questions"]["q0"]["evidence"] == "Time: +3 %."


def test_a_dispute_is_shown_and_settled_once(server: LabelServer, store: LabelStore) -> None:
    assert click(server, adjudication=True)[0] == 400
    click(server)
    _, state = click(server, annotator="bob", label="false")
    assert [one["label"] for one in state["disputed"]] == ["true", "false"]
    _, state = click(server, annotator="bob", label="false", adjudication=True)
    assert state["settled"] == {"label": "false", "note": "", "own": True}
    status, reply = click(server, annotator="cy", adjudication=True)
    assert (status, reply["error"]) == (409, "'bob' has already settled this claim")
    assert len(store.labels()) == 3


def test_a_stale_window_is_told(server: LabelServer) -> None:
    click(server)
    status, reply = click(server, label="false")
    assert status == 409
    assert "another window" in reply["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {},
    ],
)
def test_another_site_cannot_save(
    server: LabelServer, store: LabelStore, headers: dict[str, str]
) -> None:
    body = {"annotator": "ann", "question_id": "q0", "claim_hash": claim_hash(TEXTS[0])}
    body |= {"label": "true", "expected": None}  # type: ignore[dict-item]
    status, _ = ask(server, "POST", "/label", body, Content_Type="application/json", **headers)
    assert status == 403
    assert store.labels() == []


def test_another_name_for_this_machine_sees_nothing(server: LabelServer) -> None:
    for path in ("/", "/claims", "/state?annotator=ann"):
        status, reply = ask(server, "GET", path, Host=f"evil.example:{server.server_port}")
        assert (status, reply["error"]) == (403, f"open this page as {server.address}")
    assert ask(server, "GET", "/claims", Sec_Fetch_Site="cross-site")[0] == 403
    assert ask(server, "GET", "/claims", Host=f"localhost:{server.server_port}")[0] == 200


def test_what_is_no_label_is_refused(server: LabelServer, store: LabelStore) -> None:
    bad: list[dict[str, Any]] = [
        {"label": "maybe"},
        {"annotator": ""},
        {"annotator": "<b>"},
        {"claim_hash": "0" * 16},
        {"question_id": "nobody"},
        {"note": "x" * 2001},
        {"extra": 1},
    ]
    for change in bad:
        status, reply = click(server, **change)
        assert status == 400, change
        assert reply["error"]
    origin = server.address.rstrip("/")
    json_type = {"Origin": origin, "Content_Type": "application/json"}
    assert ask(server, "POST", "/label", b"{", **json_type)[0] == 400
    assert ask(server, "POST", "/label", b"[]", **json_type)[0] == 400
    assert ask(server, "POST", "/label", b"[" * 60_000, **json_type)[0] == 400
    assert ask(server, "POST", "/label", b"x" * 70_000, **json_type)[0] == 413
    assert ask(server, "POST", "/label", b"{}", Origin=origin, Content_Type="text/plain")[0] == 415
    assert ask(server, "POST", "/elsewhere", {}, **json_type)[0] == 404
    assert ask(server, "GET", "/human.sqlite")[0] == 404
    assert ask(server, "GET", "/state")[0] == 400
    assert store.labels() == []


def test_a_page_that_was_closed_leaves_no_trace_on_the_terminal(
    server: LabelServer, capfd: pytest.CaptureFixture[str]
) -> None:
    before = threading.active_count()
    reset = struct.pack("ii", 1, 0)
    with socket.create_connection(("127.0.0.1", server.server_port)) as page:
        page.sendall(b"GET / HTTP/1.1\r\n")
        page.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
    assert ask(server, "GET", "/claims")[0] == 200
    while threading.active_count() > before:
        time.sleep(0.01)
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_the_page_by_keyboard(server: LabelServer, store: LabelStore, tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as page:
        sign_in(page, server, "Ann")
        assert page.text("#claim") == "Time rises."
        assert page.text("#progress") == "0 labelled, 3 to do"
        page.press("t")
        page.until("document.getElementById('claim').innerText === 'Time falls.'")
        page.press("n")
        page.type("the reference says so")
        page.press("Escape")
        page.press("f")
        page.until("document.getElementById('place').innerText.startsWith('Claim 3')")
        assert page.text("#claim") == HOSTILE
        assert page.evaluate("document.images.length") == 0
        assert store.labels() == [
            given("ann", "true", TEXTS[0], "q0"),
            given("ann", "false", TEXTS[1], "q1", note="the reference says so"),
        ]
        page.open(server.address)
        page.until("document.getElementById('place').innerText.startsWith('Claim 3')")
        assert page.text("#progress") == "2 labelled, 1 to do"
        page.press("ArrowLeft")
        assert page.evaluate("document.getElementById('note').value") == "the reference says so"
        pressed = "document.querySelector('[aria-pressed=true]').dataset.label"
        assert page.evaluate(pressed) == "false"
        page.press("Backspace")
        page.until("document.getElementById('progress').innerText.startsWith('1 labelled')")
        assert len(store.labels()) == 1
        assert page.errors == []


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_the_page_settles_a_disagreement(
    server: LabelServer, store: LabelStore, tmp_path: Path
) -> None:
    click(server, 1)
    click(server, 1, annotator="bob", label="false", note="it falls")
    with browser(tmp_path / "profile") as page:
        sign_in(page, server, "cy")
        assert page.text("#progress") == "0 labelled, 2 to do"
        assert page.text("#settle") == "Settle disagreements (1)"
        page.press("s")
        assert page.text("#claim") == "Time falls."
        assert page.text("#said") == "Said: true, false (it falls)."
        page.press("f")
        page.until("document.getElementById('settle').innerText === 'Back to labelling'")
        page.until("document.getElementById('saved').innerText === 'Saved: false.'")
        (last,) = [one for one in store.labels() if one.adjudication]
        assert (last.annotator, last.label) == ("cy", "false")
        assert page.errors == []


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_the_page_fits_a_phone_and_says_when_nothing_was_saved(
    server: LabelServer, tmp_path: Path
) -> None:
    with browser(tmp_path / "profile") as page:
        page.look(360, 700, "dark")
        sign_in(page, server, "ann")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
        page.offline()
        page.press("t")
        page.until("!document.getElementById('problem').hidden")
        assert "Nothing was saved" in page.text("#problem")
        assert page.text("#claim") == "Time rises."


def sign_in(page: Page, server: LabelServer, name: str) -> None:
    page.open(server.address)
    page.until("!document.getElementById('sign-in').hidden")
    page.type(name)
    page.press("Enter")
    page.until("!document.getElementById('dock').hidden")
