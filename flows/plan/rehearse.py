"""The stages without a call: their own code runs over what is stored, and nothing else.

What is not stored waits, as a call for a batch does: all that does not hang on it is still asked.
So the calls that a stage would make next are known by their very keys.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import JsonValue

from flows.params import Params
from flows.project import Project
from flows.running.bench import located
from flows.stages.routing import out_of_reach, sources_of, to_route
from simulators.base import Consulted
from simulrag.calls import CacheAnswer, CallCache, CallKind, CallResult, call_key
from simulrag.errors import CacheError, CallsPending
from simulrag.judging.claims import final_claims, label_claims, texts_to_label
from simulrag.method.algorithm import Instruments, choose, conclude, draft
from simulrag.method.attribution.attribute import attribute
from simulrag.method.attribution.forecast import forecast_of
from simulrag.method.concurrency import together
from simulrag.method.routing import near_misses, routed
from simulrag.method.simulation import Simulations
from simulrag.models.base import Completion, Request
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import Prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.questions.open.generation import Benchmark, generate
from simulrag.questions.published import read_questions
from simulrag.records import (
    DOCUMENT_TOOL,
    Answer,
    Choice,
    Evidence,
    Failure,
    FinalClaims,
    Label,
    Question,
)

Stage = Literal["benchmark", "answer", "label", "attribution", "routing", "score", "score-answers"]
ROLES: Mapping[Stage, Literal["benchmark", "answer", "judge"]] = {
    "benchmark": "benchmark",
    "answer": "answer",
    "label": "judge",
    "attribution": "answer",
    "routing": "answer",
    "score": "judge",
    "score-answers": "answer",
}
"""The stages that call models, and the model of each under ``llm`` in params.yaml."""

CHARACTERS_PER_TOKEN = 4
"""Of English text, about; tokenizers differ."""


@dataclass(frozen=True)
class Length:
    """Tokens of a stored call: as its provider counted them, else estimated from its text."""

    tokens_in: int
    tokens_out: int


class StoredCalls(CallCache):
    """A call cache in which nothing is ever made: a miss is an error for simulator runs too."""

    async def get_or_call(
        self,
        kind: CallKind,
        request: Mapping[str, JsonValue],
        call: Callable[[], Awaitable[CallResult]] | None = None,  # noqa: ARG002
        *,
        task: str = "",
    ) -> CacheAnswer:
        """The stored answer. Raises CacheError where there is none."""
        return await super().get_or_call(kind, request, None, task=task)


class Rehearsal(Gateway):
    """A gateway that answers from what is stored and notes what it was asked for.

    ``stored``: the lengths of the calls that are there, by task and key; ``missing``: the estimated
    prompt tokens of those that are not. A call that is not there raises CallsPending.
    """

    def __init__(self, settings: ModelSettings, cache: StoredCalls, prompts: Prompts) -> None:
        super().__init__(make_provider(settings), settings, cache, prompts)
        self.stored: dict[str, dict[str, Length]] = {}
        self.missing: dict[str, dict[str, int]] = {}
        self.unstored: dict[str, Request] = {}
        self._calls = cache

    async def complete(self, request: Request) -> Completion:
        """The stored completion. Raises CallsPending where there is none."""
        asked = self.key(request)
        key = call_key("model", asked)
        tokens_in = text_tokens("".join(message.content for message in request.messages))
        try:
            # Asked for here first, because the gateway would look for the reason of a miss.
            await self._calls.get_or_call("model", asked)
        except CacheError:
            self.missing.setdefault(request.task, {})[key] = tokens_in
            self.unstored.setdefault(request.task, request)
            raise CallsPending(f"'{request.task}' is not stored") from None
        completion = await super().complete(request)
        used = completion.usage
        told = Length(tokens_in, text_tokens(completion.text))
        if used.input_tokens:
            told = Length(used.input_tokens, used.output_tokens)
        self.stored.setdefault(request.task, {})[key] = told
        return completion


class StoredRuns(Simulations):
    """A simulator whose stored runs are used and that runs nothing."""

    async def run(self, tool: str, arguments: Mapping[str, Any], seed: int) -> Evidence:
        """The stored evidence. Raises CallsPending where there is none."""
        try:
            return await super().run(tool, arguments, seed)
        except CacheError:
            # Not a RunError: the model would be told of it and asked again.
            raise CallsPending("the simulator has not run yet") from None


@dataclass
class Rehearsed:
    """What one domain's stages make of what is stored.

    ``benchmark`` None: some of its calls are not stored. ``answers``: one a question, None where
    something of it is not stored; ``finals`` and ``labels`` are of the ``labelled`` answers.
    ``gates``: what each stage asked. ``out_of_reach``: questions that no source answers, to route.
    ``documents``: a model searches them.
    """

    domain: str
    handbook: str
    oracle: bool
    gates: dict[Stage, Rehearsal]
    benchmark: Benchmark | None = None
    questions: list[Question] = field(default_factory=list)
    answers: list[Answer | None] = field(default_factory=list)
    finals: list[FinalClaims] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    labelled: int = 0
    out_of_reach: int = 0
    documents: bool = False

    @property
    def complete(self) -> list[tuple[Question, Answer]]:
        """The questions whose answers are stored to the end."""
        pairs = zip(self.questions, self.answers, strict=True)
        return [(question, answer) for question, answer in pairs if answer is not None]


async def rehearse(project: Project, params: Params, cache: StoredCalls, domain: str) -> Rehearsed:
    """All stages of a domain, each on what the one before has stored. Nothing is called or run."""
    simulator = params.load_simulator(domain, project.root)
    prompts = Prompts(project.prompts, params.prompts)
    gates = {
        name: Rehearsal(located(project, params.model(role)), cache, prompts)
        for name, role in ROLES.items()
    }
    found = Rehearsed(domain, simulator.handbook(), simulator.oracle, gates)
    consulted = isinstance(simulator, Consulted) and simulator.consult("any")
    found.documents = DOCUMENT_TOOL in simulator.tools and not consulted
    runs = StoredRuns(simulator, cache)
    seed = params.simulator(domain).seed
    with suppress(CallsPending):
        if simulator.oracle:
            source = project.root / str(params.simulators[domain].settings.get("benchmark"))
            found.questions = [
                question.model_copy(update={"domain": domain})
                for question in read_questions(source)
            ]
        else:
            wanted = params.benchmark
            found.benchmark = await generate(
                gates["benchmark"],
                runs,
                domain,
                n=wanted.questions,
                seed=wanted.seed,
                template_count=wanted.templates,
                set_up=wanted.set_up,
                simulator_seed=seed,
            )
            found.questions = found.benchmark.questions
    await _answer(found, Instruments(gates["answer"], runs, seed), params)
    for question, answer in found.complete:
        await _label(found, question, answer, params)
        if domain in params.attribution.domains and answer.failure is None:
            with suppress(CallsPending):
                await attribute(
                    question.text,
                    answer,
                    gates["attribution"],
                    params.attribution,
                    claims_per_call=params.answer.claims_per_call.verify,
                    simulations=runs,
                    forecast=forecast_of(question),
                )
    if domain in params.routing.domains:
        await _route(project, params, found)
    return found


async def _route(project: Project, params: Params, found: Rehearsed) -> None:
    gate, sources = found.gates["routing"], sources_of(project, params)
    beyond = out_of_reach(project, found.domain)
    found.out_of_reach = len(beyond)
    asked = [*to_route(found.domain, found.questions), *beyond]
    with suppress(CallsPending):
        asked += await near_misses(found.domain, sources, gate, params.routing.near_misses)
    for one in asked:
        with suppress(CallsPending):
            await routed(one, sources, gate)


async def _answer(found: Rehearsed, use: Instruments, params: Params) -> None:
    async def drafted(question: Question) -> Answer:
        try:
            return await draft(question, use, params.answer)
        except CallsPending as error:
            # Chosen among as a question that failed: the others' budgets are spent without it.
            failure = Failure(step="plan", reason=str(error))
            return Answer(question_id=question.question_id, domain=found.domain, failure=failure)

    async def concluded(
        question: Question, begun: Answer, chosen: Sequence[Choice]
    ) -> Answer | None:
        if begun.failure is not None:
            return None
        with suppress(CallsPending):
            return await conclude(question, begun, chosen, use, params.answer)
        return None

    drafts = await together(drafted(question) for question in found.questions)
    rows = zip(found.questions, drafts, choose(drafts, params.answer), strict=True)
    found.answers = await together(concluded(*row) for row in rows)


async def _label(found: Rehearsed, question: Question, answer: Answer, params: Params) -> None:
    judge, complete = found.gates["label"], False
    finals: tuple[FinalClaims, ...] = ()
    with suppress(CallsPending):
        finals = await final_claims(question, answer, judge, subjects=params.label.subjects)
        complete = True
    with suppress(CallsPending):
        labels = await label_claims(
            question,
            texts_to_label(answer, finals),
            judge,
            params.label.tolerance,
            claims_per_call=params.label.claims_per_call,
        )
        found.finals += finals
        found.labels += labels
        found.labelled += complete


def text_tokens(text: str) -> int:
    """Tokens of a text, about."""
    return len(text) // CHARACTERS_PER_TOKEN
