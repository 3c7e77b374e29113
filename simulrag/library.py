"""The method as a library: one question, from a notebook or a script in any folder."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import nullcontext
from functools import wraps
from pathlib import Path
from textwrap import shorten
from types import NoneType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import yaml
from pydantic import Field, ValidationError

from simulators.base import Simulator, SimulatorError
from simulators.registry import load
from simulrag.calls import CachePlace, CallCache, parse_place
from simulrag.errors import InputError, ModelError, SimulRAGError, first_problem
from simulrag.method.settings import MethodSettings
from simulrag.method.simulation import Simulations
from simulrag.models.budget import open_budget
from simulrag.models.gateway import Gateway
from simulrag.models.live import run_here
from simulrag.models.prices import read_prices
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers.registry import make_provider, model_settings
from simulrag.models.settings import BudgetLimits, ModelSettings
from simulrag.progress import Progress, Watched, on_stderr
from simulrag.records import Answer, MissingPoint, Question, Statement
from simulrag.shown import as_html, claims_frame, counted, is_marked, left_out

if TYPE_CHECKING:
    import polars as pl

    from simulrag.method.steps import Backends

Given = ParamSpec("Given")
Found = TypeVar("Found")

CONCURRENCY = 8


class Model:
    """A model by its name: ``openai:gpt-5-mini``, ``anthropic:claude-sonnet-4-5``,
    ``http://127.0.0.1:11434/v1#qwen3`` (an OpenAI-compatible server), ``local:weights.gguf``.

    Further words are those of a section ``llm`` of params.yaml (``sampling``, ``api_key_env``,
    ``paid`` ...). Unless ``sampling`` is given, closed-book answers are sampled at the model's own
    temperature and everything else is asked in the same way. Keys come from the environment. Raises
    InputError for a name or a setting that cannot be.
    """

    def __init__(self, name: str, **settings: Any) -> None:
        chosen = model_settings(name)
        if settings:
            try:
                chosen = ModelSettings.model_validate({**chosen.model_dump(), **settings})
            except ValidationError as error:
                raise InputError(f"Model('{name}'): {first_problem(error)}") from None
        self.settings = chosen

    def __repr__(self) -> str:
        return f"Model({self.settings.provider}:{self.settings.model})"


class AnswerNow(Answer):
    """An answer, and what of it was there before.

    ``stored_calls``: how many of its model calls were stored already, by day (UTC): a server may
    have changed since.
    """

    stored_calls: dict[str, int] = Field(default_factory=dict)

    def to_frame(self) -> pl.DataFrame:
        """Frame its claims, a row each (needs polars: ``pip install polars``).

        See ``simulrag.shown.claims_frame``. Raises EnvironmentFault where polars is not installed.
        """
        return claims_frame(self)

    def __repr__(self) -> str:
        return f"<answer by {self._took()}: {shorten(self.text, 100, placeholder=' ...')}>"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return as_html(self, f"By {self._took()}.")

    def _took(self) -> str:
        calls = sum(usage.calls for usage in self.usage.values())
        stored = sum(self.stored_calls.values())
        statements = self.final.statements
        source = f"from {len(self.claims)} claims"
        if is_marked(self):
            source = (
                f"{len(statements)} statements: {counted(statements)}"
                if statements
                else "no statement checked"
            )
        return (
            f"{calls} model calls ({stored} of them stored) and {self.simulator_runs} simulator "
            f"run{'s' * (self.simulator_runs != 1)}, {source}"
        )


class Checked(AnswerNow):
    """A text that was checked; mended, where that was asked for."""

    def _repr_html_(self) -> str:
        return as_html(self, f"By {self._took()}.", given=True)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What it says, in its order, and what stands behind each."""
        return self.final.statements

    @property
    def missing(self) -> tuple[MissingPoint, ...]:
        """What the question asks, the runs tell and the text lacks."""
        return left_out(self)


async def aanswer(
    question: str,
    *,
    simulator: str | Simulator,
    model: str | Model,
    simulator_settings: Mapping[str, Any] | None = None,
    budget: BudgetLimits | None = None,
    method: MethodSettings | None = None,
    cache: str | Path | None = None,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
) -> AnswerNow:
    """Answer one question, checked claim by claim against a simulator.

    ``simulator``: a registered name (``simulator_settings`` are its keyword settings) or an object
    of the protocol in ``simulators.base``. ``budget``: what model calls may cost; a model that
    costs money is refused without one. ``cache``: the folder (or redis:// address) of the call
    cache; else the project's, if the working directory is in one, else the user's. ``seed``: the
    simulator's. ``progress``: shows steps and calls on stderr, or tells a function of each reply
    (a ``Progress``).
    ``answer`` is the same without an event loop, and works inside a running one too.

    The result holds ``text``, ``final`` (with ``statements``), ``claims`` (each with ``before``,
    ``after``, ``confidence``, ``boundary`` and ``verdict``), ``evidence``, ``usage`` and
    ``stored_calls``; a notebook shows it, and ``to_frame()`` gives its claims as a frame,
    which needs polars.

    Raises SimulRAGError: InputError, EnvironmentFault (no key), BudgetMissing, BudgetSpent,
    ModelError or CacheError, and SimulatorError of ``simulators.base`` for a simulator that is not
    there; what was paid for before is kept.
    """
    # Late: networkx and numpy take longer to import than all else.
    from simulrag.method.recipes import answer_question

    _check_kinds(question=question, method=method)
    settings = (method or MethodSettings()).for_one_question()
    asked = ask_for(question)

    async def answered(use: Backends) -> Answer:
        return await answer_question(asked, use, settings)

    made, stored = await _made(
        answered, simulator, model, simulator_settings, budget, cache, seed, progress, settings
    )
    return AnswerNow(**made, stored_calls=stored)


async def acheck(
    text: str,
    question: str,
    *,
    simulator: str | Simulator,
    model: str | Model,
    simulator_settings: Mapping[str, Any] | None = None,
    mend: bool = False,
    budget: BudgetLimits | None = None,
    cache: str | Path | None = None,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
) -> Checked:
    """Check a text, whoever wrote it, claim by claim against runs that are made for its claims.

    ``question``: what the text answers, or the situation that it speaks of; without it nobody knows
    which runs its claims are about. ``mend``: with what is wrong put right and what is missing
    added. All else, and what it raises, as ``aanswer``. ``check`` is the
    same without an event loop.

    The result holds ``text``, ``statements`` (each with its place in the text, its standing and its
    runs), ``missing`` (what the question asks, the runs tell and the text lacks), ``evidence``,
    ``usage`` and ``stored_calls``; a notebook shows it. Without ``evidence`` no run would decide
    any of its claims.
    """
    from simulrag.method.grounded import check_given

    _check_kinds(question=question)
    asked, given, settings = ask_for(question), text_of(text), MethodSettings()

    async def checked(use: Backends) -> Answer:
        return await check_given(given, asked, use, settings, mend=mend)

    made, stored = await _made(
        checked, simulator, model, simulator_settings, budget, cache, seed, progress, settings
    )
    return Checked(**made, stored_calls=stored)


def _blocking(
    work: Callable[Given, Coroutine[Any, Any, Found]], name: str
) -> Callable[Given, Found]:
    """Make the same function, waited for; its errors are told without how they came about."""

    @wraps(work)
    def waited(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        try:
            return run_here(work(*args, **kwargs))
        except (SimulRAGError, SimulatorError) as error:
            raise error.with_traceback(None) from None

    waited.__name__ = waited.__qualname__ = name
    return waited


answer = _blocking(aanswer, "answer")
check = _blocking(acheck, "check")


async def _made(
    work: Callable[[Backends], Awaitable[Answer]],
    simulator: str | Simulator,
    model: str | Model,
    simulator_settings: Mapping[str, Any] | None,
    budget: BudgetLimits | None,
    cache: str | Path | None,
    seed: int,
    progress: bool | Callable[[Progress], None],
    settings: MethodSettings,
) -> tuple[dict[str, Any], dict[str, int]]:
    """Do the work with model, simulator and cache: what it made, and how many calls were stored."""
    # Late: networkx and numpy take longer to import than all else.
    from simulrag.method.steps import Backends

    _check_simulator(simulator)
    _check_kinds(model=model, budget=budget, cache=cache, seed=seed)
    _check_progress(progress)
    chosen = Model(model) if isinstance(model, str) else model
    source = load(simulator, simulator_settings) if isinstance(simulator, str) else simulator
    place = default_cache() if cache is None else parse_place(str(cache))
    with CallCache(place, stage="library") as calls:
        provider = make_provider(chosen.settings)
        spending = open_budget(
            budget or BudgetLimits(), chosen.settings, provider, calls, read_prices(None)
        )
        gateway = Gateway(
            provider,
            chosen.settings,
            calls,
            packaged_prompts(),
            concurrency=CONCURRENCY,
            budget=spending,
        )
        simulations = Simulations(source, calls)
        shown = on_stderr() if progress is True else nullcontext(progress or None)
        try:
            with shown as tell:
                watched = Watched(gateway, calls, simulations, tell) if tell else gateway
                use = Backends(watched, simulations, seed, (settings.centrality,))
                return dict(succeeded(await work(use))), calls.stored_days
        finally:
            await gateway.close()


def _check_simulator(simulator: object) -> None:
    """Raise InputError for what is no name and no object of the protocol, with what to give."""
    if isinstance(simulator, str):
        return
    if isinstance(simulator, type):
        name = simulator.__name__
        raise InputError(f"simulator is the class {name}; give an object of it: {name}()")
    protocol = ("name", "tools", "oracle", "handbook", "run", "fingerprint")
    if lacking := [part for part in protocol if not hasattr(simulator, part)]:
        raise InputError(
            f"simulator is a {type(simulator).__name__} without {', '.join(lacking)}; give a "
            'registered name such as "urban", or an object of the protocol simulrag.Simulator'
        )
    meanings = {
        "handbook": "all that a model knows of it",
        "fingerprint": "another one when its numbers change, so that stored runs are made again",
    }
    for part, meaning in meanings.items():
        method = getattr(simulator, part)
        if not callable(method) or not isinstance(text := method(), str) or not text.strip():
            raise InputError(
                f"{part}() of the simulator has to return text: {meaning}; see the guide "
                "docs/bring-your-own-simulator.md"
            )


_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "question": ((str,), "its text"),
    "model": ((str, Model), 'a name such as "openai:gpt-5-mini", or Model(...)'),
    "budget": ((BudgetLimits, NoneType), "Budget(usd=0.50), or Budget(tokens=200_000)"),
    "method": ((MethodSettings, NoneType), 'MethodSettings(method="paper")'),
    "cache": ((str, Path, NoneType), "a folder, or a redis:// address"),
    "seed": ((int,), "a whole number"),
}
"""What an argument may be, and what to give instead."""


def _check_kinds(**arguments: object) -> None:
    """Raise InputError for an argument of a kind that cannot be, with what to give instead."""
    for name, value in arguments.items():
        kinds, instead = _KINDS[name]
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise InputError(f"{name} is of type {type(value).__name__}; give {instead}")


def _check_progress(progress: object) -> None:
    if not isinstance(progress, bool) and not callable(progress):
        kind = type(progress).__name__
        raise InputError(f"progress is of type {kind}; give True, or a function of a Progress")


def ask_for(text: str) -> Question:
    """Make a question that stands by itself. Raises InputError for an empty one."""
    asked = text_of(text, "the question", "give it in quotes")
    return Question(
        question_id="ask", domain="ask", text=asked, reference_answer="", scenario_id="ask"
    )


def text_of(text: object, what: str = "the text to check", instead: str = "give one") -> str:
    """Return the text without white space around it. Raises InputError for an empty one."""
    if not isinstance(text, str):
        raise InputError(f"{what} is of type {type(text).__name__}; give a text")
    if not text.strip():
        raise InputError(f"{what} is empty; {instead}")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError(f"{what} is not UTF-8 text")
    return text.strip()


def succeeded(answered: Answer) -> Answer:
    """Return the answer. Raises ModelError with the step and the reason where it failed.

    A text that was written before, and stands unchecked, is told.
    """
    if answered.failure is not None:
        kept = f". What was written stands unchecked: {answered.text}" if answered.text else ""
        raise ModelError(f"step {answered.failure.step}: {answered.failure.reason}{kept}")
    return answered


def default_cache() -> CachePlace:
    """Find the call cache of the project that the working directory is in, else the user's own."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "params.yaml").is_file():
            match yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8")):
                case {"operations": {"cache": str(place)}}:  # other projects have a params.yaml too
                    return parse_place(place, folder)
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "simulrag" / "calls"
