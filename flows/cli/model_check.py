"""Two tiny calls for each configured model: what works, and what is missing.

One asks for JSON, one for plain text. Each goes the way of every other call (prompt, schema, cache,
budget), but is always made: its row is written anew. They are the paid calls that need no budget,
since they are asked for by name and take some hundred tokens; where one is set they keep to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from flows.params import load_params
from flows.project import Project
from flows.running.bench import located
from flows.sections import Operations
from simulrag.calls import CallCache, cache_stats
from simulrag.errors import ModelError, ModelTimeout, ModelUnavailable, ReplyInvalid, SimulRAGError
from simulrag.method.answering import CLOSED_BOOK
from simulrag.method.boundary import VERBALIZED
from simulrag.models.base import Completion
from simulrag.models.budget import Account, Budget
from simulrag.models.gateway import Gateway
from simulrag.models.prices import read_prices
from simulrag.models.prompts import Prompts
from simulrag.models.providers.base import Provider
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import BudgetLimits, ModelSettings
from simulrag.records import Record

QUESTION = "How many days has a week?"
CLAIM = "A week has seven days."
NO_LIMIT = BudgetLimits(tokens=2**62)
REPLAYED = "calls are only replayed, no model is asked; `simulrag use` sets a model of your own"


class ModelCheck(Record):
    """What two calls showed. None: not found out, since something before it failed.

    ``roles``: who uses it. ``key``: the variable that holds the key, and whether it is set.
    ``price``: free, the month of its price, or missing. ``stored_calls``: how many calls of its
    endpoint and name are stored and are not asked again. ``thinks_aloud``: a reply began with
    ``<think>``. ``note``: what else is to be known. ``problem``: the error, in one line.
    """

    roles: tuple[str, ...]
    model: str
    endpoint: str
    sampling: dict[str, str | int | float]
    works: bool
    key: str = "not looked for"
    reached: bool | None = None
    structured: bool | None = None
    sampling_accepted: bool | None = None
    thinks_aloud: bool | None = None
    price: str = "free"
    stored_calls: int = 0
    version: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    note: str = ""
    problem: str | None = None


def check_models(project: Project) -> list[ModelCheck]:
    """Each distinct model and sampling of params.yaml once; one failure stops no other."""
    params = load_params(project.params)
    roles: dict[str, tuple[list[str], ModelSettings]] = {}
    for place, settings in params.models().items():
        role = place.removeprefix("llm.")
        variants = {role: settings.sampling}
        variants |= {f"{role}.{task}": settings.sampling_of(task) for task in settings.tasks}
        for name, sampling in variants.items():
            alone = settings.model_copy(update={"sampling": sampling, "tasks": {}})
            roles.setdefault(alone.model_dump_json(), ([], alone))[0].append(name)
    stored = cache_stats(params.operations.place(project.root)).versions
    return [_check(project, params.operations, stored, *found) for found in roles.values()]


def _check(
    project: Project,
    operations: Operations,
    stored: Mapping[str, Mapping[str, int]],
    roles: list[str],
    settings: ModelSettings,
) -> ModelCheck:
    facts = ModelCheck(
        roles=tuple(roles),
        model=f"{settings.provider}:{settings.model}",
        endpoint=settings.endpoint,
        sampling=settings.sampling.model_dump(exclude_none=True),
        works=settings.replay,
        note=REPLAYED if settings.replay else "",
        stored_calls=sum(stored.get("/".join(settings.full_name), {}).values()),
    )
    if settings.replay:
        return facts
    try:
        provider = make_provider(located(project, settings))
        stated = {"key": _key(provider), "price": _price(project, provider)}
        facts = facts.model_copy(update=stated)
        done, thought = asyncio.run(_call(project, operations, provider))
    except SimulRAGError as error:
        return facts.model_copy(update={**_told(error), "problem": " ".join(str(error).split())})
    return facts.model_copy(
        update={
            "works": True,
            "thinks_aloud": thought,
            **dict.fromkeys(("reached", "structured", "sampling_accepted"), True),
            "version": done.model_version,
            "input_tokens": done.usage.input_tokens,
            "output_tokens": done.usage.output_tokens,
        }
    )


async def _call(
    project: Project, operations: Operations, provider: Provider
) -> tuple[Completion, bool]:
    """A reply of JSON, and whether it or one in plain text began with a thought, which was cut."""
    with CallCache(operations.place(project.root), stage="models-check", mode="refresh") as cache:
        gateway = Gateway(
            provider,
            provider.settings,
            cache,
            Prompts(project.prompts),
            timeout_s=operations.call_timeout_s,
            retries=0,
            budget=_budget(project, operations.budget, provider, cache),
        )
        try:
            done = await gateway.ask(VERBALIZED, question=QUESTION, claim=CLAIM)
            await gateway.ask(CLOSED_BOOK, question=QUESTION)
            return done, gateway.thoughts > 0
        finally:
            await gateway.close()


def _budget(
    project: Project, limits: BudgetLimits, provider: Provider, cache: CallCache
) -> Budget | None:
    """The project's; where it has none a boundless one, so that the call is counted too."""
    if not provider.paid:
        return None
    account = Account(cache.ledger(), read_prices(project.prices), limits.since)
    name = provider.settings.full_name
    if limits.given:
        return Budget(limits, account, name, max_output=provider.max_output_tokens)
    return Budget(NO_LIMIT, account, name, max_output=1)


def _price(project: Project, provider: Provider) -> str:
    if not provider.paid:
        return "free"
    price = read_prices(project.prices).find(provider.settings.full_name)
    return "missing in prices.yaml" if price is None else f"known as of {price.as_of}"


def _key(provider: Provider) -> str:
    """The variable's name and whether it holds anything; never the value."""
    if provider.key_variable is None:
        return "none needed"
    return f"{provider.key_variable} is {'set' if provider.key_is_set else 'not set'}"


def _told(error: SimulRAGError) -> dict[str, bool]:
    """How far the call came before it failed."""
    if not isinstance(error, ModelError):
        # A field of the sampling that the model refused is an InputError of the server's answer.
        return {"reached": True, "sampling_accepted": False} if "(400)" in str(error) else {}
    if isinstance(error, ModelUnavailable | ModelTimeout):
        return {"reached": False}
    return {"reached": True, "structured": False} if isinstance(error, ReplyInvalid) else {}


def checked_text(item: ModelCheck) -> str:
    """A few lines for people."""
    sampling = ", ".join(f"{name} {value}" for name, value in item.sampling.items()) or "defaults"
    lines = [
        f"{'ok  ' if item.works else 'FAIL'} {item.model} ({', '.join(item.roles)}; {sampling})"
    ]
    if item.note:
        return "\n".join([*lines, f"     {item.note}"])
    lines.append(f"     key: {item.key}; price: {item.price}")
    if item.stored_calls:
        known = f"{item.stored_calls} calls of it at the endpoint {item.endpoint}"
        lines.append(f"     {known} are stored and are not asked again")
    found = {
        "reached": item.reached,
        "structured output": item.structured,
        "sampling accepted": item.sampling_accepted,
    }
    shown = [f"{name}: {'yes' if ok else 'no'}" for name, ok in found.items() if ok is not None]
    if shown:
        lines.append("     " + "; ".join(shown))
    if item.works:
        tokens = f"{item.input_tokens} tokens in, {item.output_tokens} out"
        if not item.input_tokens + item.output_tokens:
            tokens = "it does not say how many tokens: a budget charges an estimate"
        if item.thinks_aloud:
            lines.append("     its replies begin with <think>...</think>, which is cut")
        lines.append(f"     answered as {item.version or 'no version named'}; {tokens}")
    else:
        lines.append(f"     {item.problem}")
    return "\n".join(lines)
