"""A question's stored answer or a new one, and one run of a simulator: outside of the pipeline."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy

from flows.files import record_lines
from flows.hooks import rooms
from flows.params import Params, load_params
from flows.project import Project, find_project
from simulators.base import Simulator
from simulators.registry import load, names
from simulrag.calls import CachePlace, CallCache, Mode
from simulrag.errors import InputError, ModelError
from simulrag.library import ask_for, default_cache, succeeded, text_of
from simulrag.method.recipes import MARKED, RECIPES
from simulrag.method.simulation import NoSource, Simulations
from simulrag.models.settings import ModelSettings
from simulrag.questions.published import read_questions
from simulrag.records import DECIDED, Answer, Evidence, Question

if TYPE_CHECKING:
    from flows.running.bench import StageResources

AUTO = "auto"
"""For a domain: the source that a room chooses for the question."""
_ID = re.compile(r"\w+(-\w+)+")
"""Words joined by hyphens, as ids are; a question has blanks."""


@dataclass(frozen=True)
class ShownAnswer:
    """An answer with its question, words on who gave it, and the parameters that it is of."""

    question: str
    answer: Answer
    source: str
    params: Params


def find_answer(
    project: Project,
    params: Params,
    text: str,
    domain: str | None,
    model: ModelSettings | None,
    method: str | None = None,
    *,
    budget_percent: float | None = None,
    samples: int | None = None,
) -> ShownAnswer:
    """Find a benchmark question's stored answer; answer any other, or with ``model`` each, anew.

    Without a ``domain`` it is the question's own, with AUTO the one that a room chooses. Raises
    InputError for a domain or a question that is not known, and ModelError for one that failed.
    """
    auto = domain == AUTO and AUTO not in params.simulators
    if auto:
        domain = None
    if domain is not None:
        params.simulator(domain)  # a wrong name is the user's to see
    if method is not None:
        answering = params.answer.model_copy(update={"method": method})
        params = params.model_copy(update={"answer": answering})
    known = find_question(project, params, text, domain)
    if known is not None and model is None:
        stored, source = stored_answer(project, params, known)
        if (fitting := answer_by(stored, method, budget_percent)) is not None:
            return ShownAnswer(known.text, fitting, source, params)
    params, source = with_model(project, params, model, known)
    question = known.text if known else text.strip()
    if auto:
        choose = offered("choose_domain", "--domain auto")
        domain = choose(project=project, params=params, text=question) or None
        source += f"; {f'domain {domain}' if domain else 'no source fits, so nothing was run'}"
    elif domain is None and known is None:
        raise InputError(f"give --domain auto, or one of: {', '.join(params.domains)}")
    elif domain is None and known is not None:
        domain = known.domain
    answer, stored_calls = answer_anew(project, params, question, domain, budget_percent, samples)
    return ShownAnswer(question, answer, source + stored_calls, params)


def offered(name: str, option: str) -> Callable[..., Any]:
    """Return the hook of what a room does for ``ask``.

    Raises InputError where none of them does it.
    """
    hook: pluggy.HookCaller = getattr(rooms().hook, name)
    if not hook.get_hookimpls():
        raise InputError(f"{option}: the room that does it is not in this project")
    return hook


def benchmark_questions(project: Project, params: Params, domain: str | None) -> list[Question]:
    """Return the questions that are there, of one domain or of all."""
    names = params.domains if domain is None else [domain]
    files = [project.results.benchmark(name) for name in names]
    return [question for file in files if file.is_file() for question in read_questions(file)]


def find_question(
    project: Project, params: Params, text: str, domain: str | None
) -> Question | None:
    """Return the question of the benchmark with this text (white space and case aside) or this id.

    Raises InputError for a word that has an id's shape and is no question's, or another domain's:
    it would be asked as a question and paid for.
    """

    def plain(words: str) -> str:
        return " ".join(words.split()).casefold()

    asked = plain(text)
    everywhere = benchmark_questions(project, params, None)
    if domain is not None and domain not in params.domains:
        everywhere += benchmark_questions(project, params, domain)
    for question in everywhere:
        if asked in (plain(question.text), plain(question.question_id)):
            if domain in (None, question.domain):
                return question
            if asked == plain(question.question_id):
                raise InputError(
                    f"{question.question_id} is a question of the domain {question.domain}, not of "
                    f"{domain}; leave --domain away"
                )
    if _ID.fullmatch(asked):
        known = [question.question_id for question in everywhere]
        near = difflib.get_close_matches(asked, known, n=1, cutoff=0)
        hint = f"; the nearest is {near[0]}" if near else ""
        raise InputError(
            f"no question has the id '{text.strip()}'{hint} (`simulrag questions`; `--domain NAME` "
            "for a domain that does not run)"
        )
    return None


def stored_answer(project: Project, params: Params, question: Question) -> tuple[Answer, str]:
    """Return a benchmark question's answer of the last run, and words on who gave it."""
    path = project.results.answers(question.domain)
    known = record_lines(path, Answer) if path.is_file() else iter(())
    answer = next((answer for answer in known if answer.question_id == question.question_id), None)
    if answer is None:
        raise InputError(
            f"question {question.question_id} has no stored answer; run `simulrag run`, or answer "
            "it anew with --model openai:gpt-5-mini"
        )
    if answer.failure is not None:
        raise ModelError(
            f"question {question.question_id} failed in the last run, at {answer.failure.step}: "
            f"{answer.failure.reason}; answer it anew with --model openai:gpt-5-mini"
        )
    model = params.model("answer")
    kind = "recorded answer" if model.replay else "stored answer of the last run"
    return answer, f"{kind} ({model.provider}: {model.model}), {question.question_id}; no call made"


def answer_by(answer: Answer, method: str | None, budget_percent: float | None) -> Answer | None:
    """Return the answer with the final text of a method and budget, by default its own, or None.

    At the largest budget of the method, and from the most samples, where none is given.
    """
    if method is None and budget_percent is None:
        return answer
    own = answer.final.line.method
    wanted = own if method is None else RECIPES[method].writes
    fitting = [
        final
        for final in answer.finals
        if final.line.method == wanted
        and final.failure is None
        and budget_percent in (None, final.line.budget_percent)
    ]
    if not fitting:
        return None
    final = max(fitting, key=lambda item: (item.line.method == own, item.line.size))
    changes: dict[str, object] = {"final": final}
    if wanted not in MARKED:
        decided = (answer.claims[at].verdict for at in final.selected)
        verified = any(item is not None and item.status in DECIDED for item in decided)
        first_look = None if answer.retrieval is None else answer.first_look
        changes |= {"audit": None, "verified": verified, "retrieval": first_look}
    return answer.model_copy(update=changes)


def answer_anew(
    project: Project,
    params: Params,
    text: str,
    domain: str | None,
    budget_percent: float | None = None,
    samples: int | None = None,
) -> tuple[Answer, str]:
    """Answer one question by itself, with words on the calls that were stored.

    Of the published method ``budget_percent`` says what is verified, by default all within reach,
    and ``samples`` how many answers are drawn. Without a domain nothing is run: the answer is
    closed-book and unverified.
    """
    # Late: a stored answer is shown without loading the method.
    from simulrag.method.recipes import answer_question

    simulator = NoSource() if domain is None else params.load_simulator(domain, project.root)
    question = ask_for(text).model_copy(update={"domain": domain or simulator.name})
    method = params.answer.for_one_question(100.0 if budget_percent is None else budget_percent)
    method = method.model_copy(update={"samples": samples or method.samples})
    seed = 0 if domain is None else params.simulator(domain).seed

    async def answered(bench: StageResources) -> Answer:
        # The others are for comparisons, and some need what the base install has not.
        use = replace(bench.backends, centralities=(method.centrality,))
        return await answer_question(question, use, method)

    return _made(project, params, simulator, seed, "ask", answered)


def check_anew(
    project: Project, params: Params, text: str, question: str, domain: str, *, mend: bool
) -> ShownAnswer:
    """Return a text checked by runs made for its claims, with words on who checked it.

    ``question``: what it answers, or a question's id. Raises InputError as ``check_given`` does,
    and for a text or a question that is empty.
    """
    from simulrag.method.grounded import check_given

    known = find_question(project, params, question, domain)
    question = known.text if known else question
    simulator = params.load_simulator(domain, project.root)
    asked, given = ask_for(question).model_copy(update={"domain": domain}), text_of(text)

    async def checked(bench: StageResources) -> Answer:
        return await check_given(given, asked, bench.backends, params.answer, mend=mend)

    seed = params.simulator(domain).seed
    answer, stored = _made(project, params, simulator, seed, "check", checked)
    model = params.model("answer")
    by = "by recorded replies of" if model.replay else "now by"
    source = f"checked {by} {model.provider}: {model.model}{stored}"
    return ShownAnswer(question, answer, source, params)


def _made(
    project: Project,
    params: Params,
    simulator: Simulator,
    seed: int,
    name: str,
    work: Callable[[StageResources], Awaitable[Answer]],
) -> tuple[Answer, str]:
    """Tell what the work made, with words on the calls that were stored."""
    from flows.running.bench import open_bench

    async def made() -> tuple[Answer, dict[str, int]]:
        async with open_bench(
            project, params, name, "answer", simulator=simulator, seed=seed
        ) as bench:
            return await work(bench), bench.cache.stored_days

    result, days = asyncio.run(made())
    if simulator.oracle and result.failure is not None and result.failure.step == "retrieve":
        raise InputError(result.failure.reason)
    return succeeded(result), stored_words(days)


def stored_words(days: Mapping[str, int]) -> str:
    """Say how many model calls were there already, and on which day they were stored."""
    if not days:
        return ""
    first, last = min(days), max(days)
    when = first if first == last else f"{first} to {last}"
    return f"; {sum(days.values())} of its replies were stored ({when})"


class Source(NamedTuple):
    """A simulator, the seed of its runs, and where and how they are kept."""

    simulator: Simulator
    seed: int
    place: CachePlace
    mode: Mode = "normal"


def find_source(name: str) -> Source:
    """Load a domain's simulator, or an installed one or a ``module:Class``, which need no project.

    Raises InputError, or SimulatorError as ``load`` does.
    """
    project = None
    if ":" not in name:
        with suppress(InputError):  # outside of a project
            project = find_project()
    if project is not None:
        params = load_params(project.params)
        if name in params.simulators or name not in names():
            return source_of(project, params, name, params.load_simulator(name, project.root))
    return Source(load(name), 0, default_cache())


def source_of(project: Project, params: Params, domain: str, simulator: Simulator) -> Source:
    """Return a domain's simulator with what the project says of its runs."""
    place = params.operations.place(project.root)
    return Source(simulator, params.simulator(domain).seed, place, params.operations.mode)


def simulate_tool(
    source: Source, tool: str, arguments: dict[str, Any], seed: int | None
) -> tuple[Evidence, bool]:
    """One run of a simulator, and whether it came from the cache.

    Without a ``seed`` it is the source's own.
    """
    seed = source.seed if seed is None else seed
    with CallCache(source.place, stage="simulate", mode=source.mode) as cache:
        simulations = Simulations(source.simulator, cache)
        evidence = asyncio.run(simulations.run(tool, arguments, seed))
        return evidence, simulations.runs == 0


def with_model(
    project: Project,
    params: Params,
    chosen: ModelSettings | None,
    known: Question | None,
) -> tuple[Params, str]:
    """Return the parameters to answer anew with.

    Raises InputError where only recorded calls are there.
    """
    if chosen is not None:
        params = params.answering(chosen)
    elif params.model("answer").replay and known is None:
        why = (
            "this is not a question of the benchmark (`simulrag questions` lists them)"
            if any(project.results.benchmark(name).is_file() for name in params.domains)
            else "there is no benchmark yet (`simulrag run` makes it, without a call)"
        )
        raise InputError(
            f"{why}, and params.yaml only replays recorded answers. Name a model: --model "
            "openai:gpt-5-mini, anthropic:NAME, http://127.0.0.1:11434/v1#qwen3 or "
            "local:FILE.gguf; `simulrag use` puts one into params.yaml"
        )
    settings = params.model("answer")
    return params, f"answered now by {settings.provider}: {settings.model}"
