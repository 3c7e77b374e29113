"""What is left of one domain's stages: each rehearsed on what the one before has stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from flows.params import Params, StageParams
from flows.plan.estimates import (
    answer_calls,
    benchmark_calls,
    label_calls,
    output_tokens,
    prompt_tokens,
)
from flows.plan.planned import TaskPlan
from flows.plan.rehearsal import Rehearsal, StoredRuns
from flows.project import Project
from flows.stages.algorithm import answer_questions
from flows.stages.bench import Workbench, load_simulator, located
from flows.stages.shelf import Shelf
from flows.stages.waiting import LOCAL, Waiting
from flows.watch.tracking import Untracked
from simulators.base import Simulator
from simulrag.calls import CallCache
from simulrag.errors import ModelError
from simulrag.judging.claims import final_claims, label_claims, texts_to_label
from simulrag.method.answering import closed_book_answers
from simulrag.models.prices import PriceTable
from simulrag.models.prompts import Prompts
from simulrag.models.providers.payment import is_paid
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.questions.open.generation import generate
from simulrag.questions.published import read_questions
from simulrag.records import Answer, FinalText, Question, Usage

ROLES = {"benchmark": "benchmark", "answer": "answer", "label": "judge"}
"""The stages that call models, and the model of each under ``llm`` in params.yaml."""


class DomainPlan:
    """One domain's stages, each rehearsed on what the one before has stored."""

    def __init__(self, project: Project, params: Params, cache: CallCache, domain: str) -> None:
        self.domain = domain
        self._project = project
        self._params = params
        stage = StageParams(params, "benchmark")
        self._simulator: Simulator = load_simulator(project, stage, domain)
        self._handbook = self._simulator.handbook()
        self._prompts = Prompts(project.prompts / "first")
        self._seed = stage.simulator(domain).seed
        self._runs = StoredRuns(self._simulator, cache)
        self._gates = {
            name: Rehearsal(located(project, getattr(params.llm, role)), cache, self._prompts)
            for name, role in ROLES.items()
        }
        self._cache = cache
        self._questions = params.benchmark.questions
        self._complete: list[tuple[Question, Answer]] = []
        self._labelled = 0

    async def run(self) -> None:
        """Rehearse all stages."""
        questions = await self._benchmark()
        if questions is None:
            return
        self._questions = len(questions)
        answers = await self._answers(questions)
        pairs = zip(questions, answers, strict=True)
        self._complete = [(q, a) for q, a in pairs if a.failure is None]
        for pair in self._complete:
            await self._label(*pair)

    async def _benchmark(self) -> list[Question] | None:
        """The questions, where all of their calls are stored."""
        if self._simulator.oracle:
            source = self._params.simulators[self.domain].settings.get("benchmark")
            found = read_questions(self._project.root / str(source))
            return [question.model_copy(update={"domain": self.domain}) for question in found]
        wanted = self._params.benchmark
        try:
            _, questions, _ = await generate(
                self._gates["benchmark"],
                self._runs,
                self.domain,
                n=wanted.questions,
                seed=wanted.seed,
                template_count=wanted.templates,
                simulator_seed=self._seed,
            )
        except ModelError:
            return None
        return questions

    async def _answers(self, questions: list[Question]) -> list[Answer]:
        gate = self._gates["answer"]
        nothing = Waiting("plan", None)
        bench = Workbench(self._cache, gate, nothing, self._handbook, self._runs, self._seed)
        method = self._params.answer
        with Shelf() as shelf:
            await answer_questions(
                questions, bench, method, Untracked(), shelf, chunk=len(questions)
            )
            answers = list(shelf.answers())
        for question, answer in zip(questions, answers, strict=True):
            if answer.failure is not None:  # samples need nothing that was missing before them
                with suppress(ModelError):
                    await closed_book_answers(question.text, gate, method.samples)
        return answers

    async def _label(self, question: Question, answer: Answer) -> None:
        gate = self._gates["label"]
        finals = await final_claims(question, answer, gate)
        texts = texts_to_label(answer, finals)
        labels = await label_claims(question, texts, gate, self._params.label.tolerance)
        failed = [*(item.failure for item in finals), *(label.failure for label in labels)]
        self._labelled += not any(failed)

    def _expected(self, stage: str) -> Mapping[str, float]:
        """Calls of the whole stage by task: as whole questions had them, else as assumed."""
        gate, method = self._gates[stage], self._params.answer
        if stage == "benchmark":
            return {} if self._simulator.oracle else benchmark_calls(self._params.benchmark)
        whole = self._labelled if stage == "label" else len(self._complete)
        if whole and stage == "answer":
            per = _mean_calls(answer for _, answer in self._complete)
        elif whole:
            per = {task: len(calls) / whole for task, calls in gate.stored.items()}
        elif stage == "answer":
            per = answer_calls(method, oracle=self._simulator.oracle)
        else:
            per = label_calls(method)
        return {task: calls * self._questions for task, calls in per.items()}

    def tasks(self, stage: str, settings: ModelSettings, prices: PriceTable) -> list[TaskPlan]:
        """What is left of a stage."""
        gate = self._gates[stage]
        whole = self._questions_done(stage)
        expected = {} if whole else self._expected(stage)
        names = dict.fromkeys([*expected, *gate.stored, *gate.missing])
        plans = [self._task(stage, t, expected.get(t, 0), settings, prices) for t in names]
        return [plan for plan in plans if plan.calls or plan.cached]

    def _questions_done(self, stage: str) -> bool:
        """Nothing of the stage is left."""
        done = {"answer": len(self._complete), "label": self._labelled}
        if stage == "benchmark":
            stored, missing = self._gates[stage].stored, self._gates[stage].missing
            return self._simulator.oracle or (bool(stored) and not missing)
        return self._questions > 0 and done[stage] == self._questions

    def _task(
        self, stage: str, task: str, expected: float, settings: ModelSettings, prices: PriceTable
    ) -> TaskPlan:
        gate = self._gates[stage]
        stored = list(gate.stored.get(task, {}).values())
        missing = list(gate.missing.get(task, {}).values())
        later = max(0, round(expected) - len(stored) - len(missing))
        used = sum(stored, Usage())
        if stored:
            each_in = used.input_tokens / len(stored)
            each_out = used.output_tokens / len(stored)
        else:
            each_in = sum(missing) / len(missing) if missing else self._prompt_tokens(task)
            each_out = output_tokens(task, settings.sampling_of(task).reasoning_effort)
        calls = len(missing) + later
        tokens_in = round(sum(missing) + later * each_in)
        tokens_out = round(calls * each_out)
        return TaskPlan(
            stage=f"{stage}@{self.domain}",
            task=task,
            model=f"{settings.provider}:{settings.model}",
            calls=calls,
            known=len(missing),
            cached=len(stored),
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            usd=_money(settings, prices, tokens_in, tokens_out),
        )

    def _prompt_tokens(self, task: str) -> int:
        return prompt_tokens(self._prompts, task, self._params.answer, self._handbook)


def _mean_calls(answers: Iterable[Answer]) -> dict[str, float]:
    total: dict[str, int] = {}
    count = 0
    for answer in answers:
        count += 1
        for used in (answer.usage, *(text.usage for text in _distinct(answer))):
            for task, usage in used.items():
                total[task] = total.get(task, 0) + usage.calls
    return {task: calls / count for task, calls in total.items()}


def _distinct(answer: Answer) -> list[FinalText]:
    """The answers to compare with whose calls no other has: RAG at m = 1 is the first of its m."""
    several = len(answer.closed_book) > 1
    layers = ("input_rag", "output_rag")
    return [
        text
        for text in answer.baselines
        if not (several and text.samples == 1 and text.method in layers)
    ]


def _money(
    settings: ModelSettings, prices: PriceTable, tokens_in: int, tokens_out: int
) -> float | None:
    if not costs(settings):
        return 0.0
    price = prices.find((settings.provider, settings.endpoint, settings.model))
    used = Usage(input_tokens=tokens_in, output_tokens=tokens_out)
    return None if price is None else price.cost(used)


def costs(settings: ModelSettings) -> bool:
    """Whether the calls of a model cost money."""
    return settings.provider not in LOCAL and is_paid(make_provider(settings))
