"""One tiny call for each configured model: what works, and what is missing.

The call goes the way of every other one (prompt, schema, cache, budget), but is always made: its
row is written anew. It is the one paid call that needs no budget, since it is asked for by name
and costs about a hundred tokens; where a budget is set it keeps to it.
"""

from __future__ import annotations

import asyncio
import os

from simulrag.models.providers.payment import is_paid, reply_limit
from simulrag.models.retry import RetryPolicy

from flows.params import Operations, load_params
from flows.project import Project
from flows.stages.bench import cache_place
from simulrag.calls import CallCache
from simulrag.errors import ModelError, SimulRAGError
from simulrag.models.base import Completion, Provider
from simulrag.models.budget import Account, Budget, BudgetLimits
from simulrag.models.gateway import Gateway
from simulrag.models.prices import read_prices
from simulrag.models.prompts import Prompts
from simulrag.models.providers import anthropic, openai
from simulrag.models.providers.registry import make_provider
from simulrag.models.replies import Verbalized
from simulrag.models.settings import ModelSettings
from simulrag.records import Record

TASK = "verbalized"
QUESTION = "How many days has a week?"
CLAIM = "A week has seven days."
NO_LIMIT = BudgetLimits(tokens=2**62)


class Checked(Record):
    """What one call showed. None: not found out, since something before it failed.

    ``roles``: who uses it. ``key``: the variable that holds the key, and whether it is set.
    ``price``: free, the month of its price, or missing. ``problem``: the error, in one line.
    """

    roles: tuple[str, ...]
    model: str
    endpoint: str
    sampling: dict[str, str | int | float]
    works: bool
    key: str
    reached: bool | None = None
    structured: bool | None = None
    sampling_accepted: bool | None = None
    price: str = "free"
    version: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    problem: str | None = None


def check_models(project: Project) -> list[Checked]:
    """Each distinct model and sampling of params.yaml once; one failure stops no other."""
    params = load_params(project.params)
    roles: dict[str, tuple[list[str], ModelSettings]] = {}
    for role in ("benchmark", "answer", "judge"):
        settings: ModelSettings = getattr(params.llm, role)
        variants = {role: settings.sampling}
        variants |= {f"{role}.{task}": settings.sampling_of(task) for task in settings.tasks}
        for name, sampling in variants.items():
            alone = settings.model_copy(update={"sampling": sampling, "tasks": {}})
            roles.setdefault(alone.model_dump_json(), ([], alone))[0].append(name)
    return [_check(project, params.operations, *found) for found in roles.values()]


def _check(
    project: Project, operations: Operations, roles: list[str], settings: ModelSettings
) -> Checked:
    facts = Checked(
        roles=tuple(roles),
        model=f"{settings.provider}:{settings.model}",
        endpoint=settings.endpoint,
        sampling=settings.sampling.model_dump(exclude_none=True),
        works=False,
        key=_key(settings),
    )
    try:
        provider = make_provider(settings)
        facts = facts.model_copy(update={"price": _price(project, settings, provider)})
        done = asyncio.run(_call(project, operations, settings, provider))
    except SimulRAGError as error:
        return facts.model_copy(update={**_told(error), "problem": " ".join(str(error).split())})
    return facts.model_copy(
        update={
            "works": True,
            **dict.fromkeys(("reached", "structured", "sampling_accepted"), True),
            "version": done.model_version,
            "input_tokens": done.usage.input_tokens,
            "output_tokens": done.usage.output_tokens,
        }
    )


async def _call(
    project: Project, operations: Operations, settings: ModelSettings, provider: Provider
) -> Completion:
    place = cache_place(project, operations)
    with CallCache(place, stage="models-check", mode="refresh") as cache:
        budget = _budget(project, operations, settings, provider, cache)
        gateway = Gateway(
            provider,
            settings,
            cache,
            Prompts(project.prompts / "first"),
            timeout_s=operations.call_timeout_s,
            retry=RetryPolicy(retries=0),
            budget=budget,
        )
        try:
            return await gateway.ask(TASK, Verbalized, question=QUESTION, claim=CLAIM)
        finally:
            if budget is not None:
                budget.close()
            await gateway.close()


def _budget(
    project: Project,
    operations: Operations,
    settings: ModelSettings,
    provider: Provider,
    cache: CallCache,
) -> Budget | None:
    if not is_paid(provider):
        return None
    limits = operations.budget if operations.budget.given else NO_LIMIT
    account = Account(cache.ledger(), read_prices(project.prices), limits.since)
    longest = reply_limit(provider) or (None if operations.budget.given else 1)
    name = (settings.provider, settings.endpoint, settings.model)
    return Budget(limits, account, name, max_output=longest, timeout_s=operations.call_timeout_s)


def _price(project: Project, settings: ModelSettings, provider: Provider) -> str:
    if not is_paid(provider):
        return "free"
    name = (settings.provider, settings.endpoint, settings.model)
    price = read_prices(project.prices).find(name)
    return "missing in prices.yaml" if price is None else f"known as of {price.as_of}"


def _key(settings: ModelSettings) -> str:
    """The variable's name and whether it holds anything; never the value."""
    variable = settings.api_key_env
    if settings.provider == "openai":
        variable = openai.key_variable(settings)
    elif settings.provider == "anthropic":
        variable = anthropic.key_variable(settings)
    if variable is None:
        return "none needed"
    return f"{variable} is {'set' if os.environ.get(variable, '').strip() else 'not set'}"


def _told(error: SimulRAGError) -> dict[str, bool]:
    """How far the call came before it failed."""
    if not isinstance(error, ModelError):
        # A field of the sampling that the model refused is an InputError of the server's answer.
        return {"reached": True, "sampling_accepted": False} if "(400)" in str(error) else {}
    if error.kind in ("unavailable", "timeout"):
        return {"reached": False}
    return {"reached": True, "structured": False} if error.kind == "invalid_reply" else {}


def checked_text(item: Checked) -> str:
    """A few lines for people."""
    sampling = ", ".join(f"{name} {value}" for name, value in item.sampling.items()) or "defaults"
    lines = [
        f"{'ok  ' if item.works else 'FAIL'} {item.model} ({', '.join(item.roles)}; {sampling})",
        f"     key: {item.key}; price: {item.price}",
    ]
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
        lines.append(f"     answered as {item.version or 'no version named'}; {tokens}")
    else:
        lines.append(f"     {item.problem}")
    return "\n".join(lines)
