"""The method as a library: one question, from a notebook or a script in any folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import Field, ValidationError

from simulators.base import Simulator
from simulators.registry import load
from simulrag.calls import CachePlace, CallCache, parse_place
from simulrag.errors import InputError, ModelError, first_problem
from simulrag.method.algorithm import Instruments, answer_question
from simulrag.method.settings import MethodSettings
from simulrag.method.simulation import Simulations
from simulrag.models.budget import open_budget
from simulrag.models.gateway import Gateway
from simulrag.models.prices import read_prices
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import BudgetLimits, ModelSettings
from simulrag.models.specification import model_settings
from simulrag.records import Answer, Question

Value = TypeVar("Value")

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


def answer(
    question: str,
    *,
    simulator: str | Simulator,
    model: str | Model,
    simulator_settings: Mapping[str, Any] | None = None,
    budget: BudgetLimits | None = None,
    method: MethodSettings | None = None,
    cache: str | Path | None = None,
    seed: int = 0,
) -> AnswerNow:
    """Answer one question, checked claim by claim against a simulator.

    ``simulator``: a registered name (``simulator_settings`` are its keyword settings) or an object
    of the protocol in ``simulators.base``. ``budget``: what model calls may cost; a model that
    costs money is refused without one. ``cache``: the folder (or redis:// address) of the call
    cache; else the project's, if the working directory is in one, else the user's. ``seed``: the
    simulator's. Works inside a running event loop too, where ``aanswer`` is the better choice.

    The result holds ``text``, ``final`` (with ``statements``), ``claims`` (each with ``before``,
    ``after``, ``confidence``, ``boundary`` and ``verdict``), ``evidence``, ``usage`` and
    ``stored_calls``.

    Raises SimulRAGError: InputError, EnvironmentFault (no key), BudgetMissing, BudgetSpent,
    ModelError or CacheError, and SimulatorError of ``simulators.base`` for a simulator that is not
    there; what was paid for before is kept.
    """
    return _run(
        aanswer(
            question,
            simulator=simulator,
            model=model,
            simulator_settings=simulator_settings,
            budget=budget,
            method=method,
            cache=cache,
            seed=seed,
        )
    )


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
) -> AnswerNow:
    """``answer`` for code that runs in an event loop."""
    asked = ask_for(question)
    chosen = Model(model) if isinstance(model, str) else model
    source = load(simulator, simulator_settings) if isinstance(simulator, str) else simulator
    settings = (method or MethodSettings()).for_one_question()
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
        try:
            use = Instruments(gateway, Simulations(source, calls), seed)
            answered = succeeded(await answer_question(asked, use, settings))
            return AnswerNow(**dict(answered), stored_calls=calls.stored_days)
        finally:
            await gateway.close()


def ask_for(text: str) -> Question:
    """A question that stands by itself. Raises InputError for an empty one."""
    if not text.strip():
        raise InputError("the question is empty; give it in quotes")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError("the question is not UTF-8 text")
    return Question(
        question_id="ask", domain="ask", text=text.strip(), reference_answer="", scenario_id="ask"
    )


def succeeded(answered: Answer) -> Answer:
    """The answer, or a ModelError with the step and the reason where it failed."""
    if answered.failure is not None:
        raise ModelError(f"step {answered.failure.step}: {answered.failure.reason}")
    return answered


def default_cache() -> CachePlace:
    """The call cache of the project that the working directory is in, else the user's own."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "params.yaml").is_file():
            match yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8")):
                case {"operations": {"cache": str(place)}}:  # other projects have a params.yaml too
                    return parse_place(place, folder)
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "simulrag" / "calls"


def _run(work: Coroutine[Any, Any, Value]) -> Value:
    """Run to the end, also where an event loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="simulrag") as thread:
        return thread.submit(asyncio.run, work).result()
