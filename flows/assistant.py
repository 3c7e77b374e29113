"""SimulRAG for assistants: its questions, simulators and method as tools of an MCP server.

``AssistantDesk`` is what an assistant can ask for, without MCP; ``make_server`` speaks it.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from flows import asking
from flows.cli.ask import answer_json, told
from flows.cli.main import code_of
from flows.params import Params, load_params
from flows.project import Project
from simulators.base import ArgumentError, Simulator, is_remote
from simulators.json_schema import JsonShape
from simulators.registry import load, reaches_out, sources_of
from simulrag.errors import InputError, NotStored
from simulrag.models.providers.registry import model_settings
from simulrag.shown import LEFT_OUT, left_out, unverified

ALLOW = "--allow-calls-that-cost"
_DOMAIN = {"type": "string", "description": "a domain of the project, such as urban"}


@dataclass(frozen=True)
class ToolResult:
    """A result: words for a reader, fields for a program."""

    text: str
    fields: dict[str, Any]


@dataclass(frozen=True)
class AssistantTool:
    """A tool for an assistant. ``harmless``: it neither costs nor changes anything."""

    name: str
    description: str
    arguments: JsonShape
    harmless: bool


OFFERS = {
    offer.name: offer
    for offer in (
        AssistantTool(
            "ask",
            "Answer a scientific question, checked claim by claim against a simulator. Questions "
            "of the benchmark have a stored answer (the tool 'questions' lists them); any other "
            f"asks a model, if the server was started with {ALLOW}.",
            JsonShape(
                {
                    "type": "object",
                    "properties": {
                        "question": {"type": "string", "description": "the question, or its id"},
                        "domain": _DOMAIN,
                    },
                    "required": ["question"],
                }
            ),
            False,
        ),
        AssistantTool(
            "check",
            "Check a text of anybody's, statement by statement, by runs of a domain's simulator "
            "that are made for what it claims. Texts whose check is recorded cost nothing; any "
            f"other asks a model, if the server was started with {ALLOW}.",
            JsonShape(
                {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string", "description": "what is to be checked"},
                        "domain": _DOMAIN,
                        "question": {
                            "type": "string",
                            "description": "what the text answers, or the situation that it speaks "
                            "of; or a question's id",
                        },
                    },
                    "required": ["text", "domain", "question"],
                }
            ),
            False,
        ),
        AssistantTool(
            "simulate",
            "Run one tool of a domain's simulator. Its handbook lists tools, arguments and ranges.",
            JsonShape(
                {
                    "type": "object",
                    "properties": {
                        "domain": _DOMAIN,
                        "tool": {"type": "string", "description": "a tool of the handbook"},
                        "arguments": {"type": "object", "description": "by name their values"},
                        "seed": {"type": "integer", "minimum": 0},
                    },
                    "required": ["domain", "tool"],
                }
            ),
            False,
        ),
        AssistantTool(
            "handbook",
            "What a domain's simulator can and cannot tell, with its tools and their ranges.",
            JsonShape(
                {"type": "object", "properties": {"domain": _DOMAIN}, "required": ["domain"]}
            ),
            True,
        ),
        AssistantTool(
            "questions",
            "The questions that have a stored answer, of one domain or of all.",
            JsonShape({"type": "object", "properties": {"domain": _DOMAIN}}),
            True,
        ),
    )
}


class AssistantDesk:
    """A project's answers, simulators and questions, for somebody who is not at its terminal.

    Without ``allowed`` no model is asked and no service of somebody else's is called.
    """

    def __init__(
        self, project: Project, *, allowed: bool = False, model: str | None = None
    ) -> None:
        self.project = project
        self.allowed = allowed
        self.model = model

    def serve(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Tell what a tool gives.

        Raises SimulRAGError or SimulatorError, in words for the assistant.
        """
        if name not in OFFERS:
            raise InputError(f"there is no tool '{name}'; known: {', '.join(OFFERS)}")
        try:
            given = OFFERS[name].arguments.check(arguments)
        except ValueError as error:
            raise ArgumentError(f"{name} refuses its arguments: {error}") from None
        tool: Callable[..., ToolResult] = getattr(self, name)
        return tool(**given)

    def ask(self, question: str, domain: str | None = None) -> ToolResult:
        """Return the stored answer, or, where that is allowed, a new one."""
        params = self._params(domain)
        if not question.strip():
            raise InputError("the question is empty")
        chosen = None
        if asking.find_question(self.project, params, question, domain) is None:
            if not self.allowed:
                raise InputError(
                    "this question has no stored answer (the tool 'questions' lists those that "
                    f"have), and asking a model may cost: start the server with {ALLOW}"
                )
            if domain is None:
                raise InputError(f"name a domain: {', '.join(params.domains)}")
            chosen = None if self.model is None else model_settings(self.model)
        given = asking.find_answer(self.project, params, question, domain, chosen)
        answer = given.answer
        verified = "" if answer.verified else "\n\nUnverified: no claim was checked."
        fields = {"source": given.source, **answer_json(given.question, answer)}
        return ToolResult(f"{answer.text}{verified}\n\n({given.source})", fields)

    def check(self, text: str, domain: str, question: str) -> ToolResult:
        """Return the marks of a text: from recorded replies, or, where that is allowed, anew."""
        params = self._params(domain)
        refused = InputError(
            "this text's check is not recorded, and a new one asks a model, which may cost: start "
            f"the server with {ALLOW}"
        )
        if not (self.allowed or params.model("answer").replay):
            raise refused
        if self.model is not None:
            params = params.answering(model_settings(self.model))
        self._simulator(params, domain)  # refused where it is somebody else's
        try:
            given = asking.check_anew(self.project, params, text, question, domain, mend=False)
        except NotStored as error:
            raise error if self.allowed else refused from None
        answer = given.answer
        lines = [told(item).plain for item in answer.final.statements]
        lines += [f"{LEFT_OUT}: {point.text}" for point in left_out(answer)]
        lines += [unverified(answer, given=True), f"({given.source})"]
        fields = {"source": given.source, **answer_json(given.question, answer)}
        return ToolResult("\n".join(filter(None, lines)), fields)

    def simulate(
        self,
        domain: str,
        tool: str,
        arguments: dict[str, Any] | None = None,
        seed: int | None = None,
    ) -> ToolResult:
        """One run, through the call cache."""
        params = self._params(domain)
        simulator = self._simulator(params, domain, tool)
        source = asking.source_of(self.project, params, domain, simulator)
        evidence, hit = asking.simulate_tool(source, tool, arguments or {}, seed)
        fields = evidence.model_dump(mode="json") | {"from_cache": hit}
        return ToolResult(evidence.text, fields)

    def handbook(self, domain: str) -> ToolResult:
        """Return the handbook that models are shown."""
        text = self._simulator(self._params(domain), domain).handbook()
        return ToolResult(text, {"domain": domain, "handbook": text})

    def questions(self, domain: str | None = None) -> ToolResult:
        """Return the benchmark's questions."""
        questions = asking.benchmark_questions(self.project, self._params(domain), domain)
        listed = [{"id": q.question_id, "domain": q.domain, "text": q.text} for q in questions]
        words = "\n".join(f"{question['id']}: {question['text']}" for question in listed)
        return ToolResult(words or "There is no benchmark yet.", {"questions": listed})

    def _simulator(self, params: Params, domain: str, tool: str = "") -> Simulator:
        """Return a domain's simulator, or that of its sources which has ``tool``.

        Raises InputError where it could be had only by starting or asking a service of somebody
        else's, which is not allowed.
        """
        name, settings = params.chosen(domain, self.project.root)
        sources = sources_of(name, settings)
        own = [source for source in sources if self.allowed or not reaches_out(source[0])]
        if len(own) == len(sources):
            simulator = load(name, settings)
            if self.allowed or not tool or not is_remote(simulator, tool):
                return simulator
        for source in own if tool else ():
            simulator = load(*source)
            if tool in simulator.tools and not is_remote(simulator, tool):
                return simulator
        raise InputError(
            f"domain '{domain}' is served by a service of somebody else's, which is neither "
            f"started nor asked without leave, as it may cost: start the server with {ALLOW}"
        )

    def _params(self, domain: str | None) -> Params:
        """Return the parameters as they are now; a wrong domain is the assistant's to see."""
        params = load_params(self.project.params)
        if domain is not None:
            params.simulator(domain)
        return params


PROGRESS_S = 1.0
"""How often a long request says that it goes on."""
_OPEN = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
_CLOSED = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True
)


def make_server(desk: AssistantDesk) -> Server[Any]:
    """Return the server of a project."""

    async def list_tools(context: Any, page: Any) -> types.ListToolsResult:  # noqa: ARG001
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=offer.name,
                    description=offer.description,
                    input_schema=dict(offer.arguments.schema),
                    annotations=_OPEN if offer.harmless else _CLOSED,
                )
                for offer in OFFERS.values()
            ]
        )

    async def call_tool(
        context: Any, parameters: types.CallToolRequestParams
    ) -> types.CallToolResult:
        work = asyncio.create_task(
            asyncio.to_thread(_served, desk, parameters.name, parameters.arguments or {})
        )
        seconds = 0.0
        while not (await asyncio.wait([work], timeout=PROGRESS_S))[0]:
            seconds += PROGRESS_S
            words = f"{parameters.name}: running for {seconds:g} s"
            await context.session.report_progress(seconds, None, words)
        result, wrong = work.result()
        return types.CallToolResult(
            content=[types.TextContent(text=result.text)],
            structured_content=None if wrong else result.fields,
            is_error=wrong,
        )

    return Server(
        "simulrag",
        version=version("simulrag"),
        instructions=(
            "Scientific questions answered with simulators. Read a domain's handbook before "
            "'simulate'. Domains: " + ", ".join(load_params(desk.project.params).domains)
        ),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _served(desk: AssistantDesk, name: str, arguments: dict[str, Any]) -> tuple[ToolResult, bool]:
    """Return the result, and whether it is an error; a fault of ours is one line, and logged."""
    try:
        return desk.serve(name, arguments), False
    except Exception as error:
        if code_of(error) is not None:
            return ToolResult(" ".join(str(error).split()), {}), True
        traceback.print_exc(file=sys.stderr)
        return ToolResult(f"{name} failed inside SimulRAG: {type(error).__name__}", {}), True


async def serve_stdio(desk: AssistantDesk) -> None:
    """Serve until the other side closes. Prints of ours go to stderr meanwhile."""
    server = make_server(desk)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
