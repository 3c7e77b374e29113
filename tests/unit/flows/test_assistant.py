"""What an assistant is given: the desk, and the server around it, in one process."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client

from flows import assistant as server
from flows.assistant import OFFERS, AssistantDesk
from flows.files import write_records
from flows.project import Project
from simulrag.records import Answer, AnswerVariant, FinalText, Question

ROOT = Path(__file__).resolve().parents[3]
KNOWN = Question(
    question_id="urban-1",
    domain="urban",
    text="How long is the ride?",
    reference_answer="Long.",
    scenario_id="s",
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    shutil.copy(ROOT / "params.yaml", tmp_path)
    made = Project(tmp_path)
    final = FinalText(line=AnswerVariant(method="simulrag", samples=5), text="Eight minutes.")
    answer = Answer(question_id="urban-1", domain="urban", final=final, verified=True)
    for path, record in (
        (made.results.benchmark("urban"), KNOWN),
        (made.results.answers("urban"), answer),
    ):
        path.parent.mkdir(parents=True)
        write_records(path, [record])
    return made


async def called(desk: AssistantDesk, name: str, /, **arguments: Any) -> tuple[str, Any, bool]:
    async with Client(server.make_server(desk)) as client:
        result = await client.call_tool(name, arguments)
        (block,) = result.content
        return getattr(block, "text", ""), result.structured_content, bool(result.is_error)


async def test_the_tools_are_there_with_their_schemas(project: Project) -> None:
    async with Client(server.make_server(AssistantDesk(project))) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == ["ask", "check", "simulate", "handbook", "questions"]
    assert set(tools["simulate"].input_schema["required"]) == {"domain", "tool"}
    hints = {
        name: tool.annotations and tool.annotations.read_only_hint for name, tool in tools.items()
    }
    assert hints == {name: offer.harmless for name, offer in OFFERS.items()}


async def test_a_stored_answer_costs_nothing(project: Project) -> None:
    text, fields, wrong = await called(
        AssistantDesk(project), "ask", question="how long is the RIDE?"
    )
    assert not wrong
    assert text.startswith("Eight minutes.\n\n(recorded answer (anthropic: claude)")
    assert fields["verified"] is True


async def test_questions_and_a_handbook(project: Project) -> None:
    text, fields, _ = await called(AssistantDesk(project), "questions", domain="urban")
    assert text == "urban-1: How long is the ride?"
    assert fields["questions"][0]["id"] == "urban-1"
    text, _, wrong = await called(AssistantDesk(project), "handbook", domain="urban")
    assert "| speed_factor |" in text
    assert not wrong


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("ask", {"question": "Why?"}, "start the server with --allow-calls-that-cost"),
        ("ask", {"question": " "}, "the question is empty"),
        ("ask", {}, "'question' is a required property"),
        ("ask", {"question": "Why?", "model": "x"}, "model: there is no such name"),
        ("check", {"text": "So.", "domain": "urban"}, "'question' is a required property"),
        ("check", {"text": " ", "domain": "urban", "question": "Why?"}, "the text to check is emp"),
        ("handbook", {"domain": "ubran"}, "did you mean 'urban'"),
        ("simulate", {"domain": "urban", "tool": "fly"}, "urban has no tool 'fly'"),
        ("fly", {}, "no tool 'fly'; known: ask"),
    ],
)
async def test_a_mistake_is_answered_in_words(
    project: Project, tool: str, arguments: dict[str, Any], words: str
) -> None:
    text, _, wrong = await called(AssistantDesk(project), tool, **arguments)
    assert wrong
    assert words in text


async def test_where_calls_are_allowed_the_recorded_model_still_answers_nothing_new(
    project: Project,
) -> None:
    desk = AssistantDesk(project, allowed=True)
    text, _, wrong = await called(desk, "ask", question="Why?", domain="urban")
    assert wrong
    assert "params.yaml only replays recorded answers" in text


async def test_without_leave_a_model_that_is_not_replayed_checks_no_text(project: Project) -> None:
    params = yaml.safe_load(project.params.read_text())
    params["llm"]["answer"] = {"provider": "stand-in", "model": "any"}
    project.params.write_text(yaml.safe_dump(params))
    desk = AssistantDesk(project)
    text, _, wrong = await called(desk, "check", text="So.", domain="urban", question="Why?")
    assert wrong
    assert "a new one asks a model, which may cost" in text


async def test_a_command_of_somebody_elses_is_not_started(project: Project, tmp_path: Path) -> None:
    started = tmp_path / "started"
    params = yaml.safe_load(project.params.read_text())
    tools = {"name": "mcp", "settings": {"command": ["touch", str(started)]}}
    page = {"url": "http://127.0.0.1:9/mcp"}
    params["simulators"]["tools"] = tools
    params["simulators"]["page"] = {"name": "mcp", "settings": page}
    both = {"sources": ["climate", "tools", "page"]}
    params["simulators"]["both"] = {"name": "joined", "settings": both}
    project.params.write_text(yaml.safe_dump(params))
    for domain in ("tools", "page", "both"):
        text_of = {"text": "It is full.", "question": "How full is it?"}
        for name, asked in (("handbook", {}), ("simulate", {"tool": "level"}), ("check", text_of)):
            text, _, wrong = await called(AssistantDesk(project), name, domain=domain, **asked)
            assert wrong
            assert "start the server with --allow-calls-that-cost" in text
    own = {"tool": "query_lat_and_lon", "arguments": {"city_name": "Oslo"}}
    text, _, wrong = await called(AssistantDesk(project), "simulate", domain="both", **own)
    assert not wrong, text
    assert not started.exists()


async def test_long_requests_say_that_they_go_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    heard: list[str] = []
    told = threading.Event()

    def slow(self: AssistantDesk, name: str, arguments: Any) -> Any:
        told.wait(30)
        return original(self, name, arguments)

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")
        told.set()

    original = AssistantDesk.serve
    monkeypatch.setattr(AssistantDesk, "serve", slow)
    monkeypatch.setattr(server, "PROGRESS_S", 0.01)
    async with Client(server.make_server(AssistantDesk(project))) as client:
        await client.call_tool("questions", {}, progress_callback=progress)
    assert heard[0] == "questions: running for 0.01 s"
