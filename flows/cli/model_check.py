"""One tiny call for each configured model: whether it is reached, keeps a schema, and how fast.

It goes the way of every other call (prompt, schema, cache, budget), but is always made: its row is
written anew. It is the paid call that needs no budget, since it is asked for by name and takes some
hundred tokens; where one is set it keeps to it.
"""

from __future__ import annotations

import asyncio
import time

from flows.params import load_params
from flows.project import Project
from flows.running.bench import located
from flows.sections import Operations
from simulrag.calls import CallCache
from simulrag.errors import ModelError, ModelTimeout, ModelUnavailable, ReplyInvalid, SimulRAGError
from simulrag.method.verification import VERBALIZED
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
    """What a call showed. None: not found out, since something before it failed.

    ``roles``: who uses it. ``structured``: it kept the schema of its reply. ``problem``: the error,
    in one line.
    """

    roles: tuple[str, ...]
    model: str
    works: bool
    reached: bool | None = None
    structured: bool | None = None
    seconds: float | None = None
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
    return [_check(project, params.operations, *found) for found in roles.values()]


def _check(
    project: Project, operations: Operations, roles: list[str], settings: ModelSettings
) -> ModelCheck:
    facts = ModelCheck(
        roles=tuple(roles),
        model=f"{settings.provider}:{settings.model}",
        works=settings.replay,
        note=REPLAYED if settings.replay else "",
    )
    if settings.replay:
        return facts
    began = time.monotonic()
    try:
        provider = make_provider(located(project, settings))
        asyncio.run(_call(project, operations, provider))
    except SimulRAGError as error:
        return facts.model_copy(update={**_told(error), "problem": " ".join(str(error).split())})
    seconds = time.monotonic() - began
    return facts.model_copy(
        update={"works": True, "reached": True, "structured": True, "seconds": seconds}
    )


async def _call(project: Project, operations: Operations, provider: Provider) -> None:
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
            await gateway.ask(VERBALIZED, question=QUESTION, claim=CLAIM)
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


def _told(error: SimulRAGError) -> dict[str, bool]:
    """How far the call came before it failed."""
    if not isinstance(error, ModelError):  # a field that the model refused: its server answered
        return {"reached": True} if "(400)" in str(error) else {}
    if isinstance(error, ModelUnavailable | ModelTimeout):
        return {"reached": False}
    return {"reached": True, "structured": False} if isinstance(error, ReplyInvalid) else {}


def checked_text(item: ModelCheck) -> str:
    """A few lines for people."""
    lines = [f"{'ok  ' if item.works else 'FAIL'} {item.model} ({', '.join(item.roles)})"]
    found = {"reached": item.reached, "structured output": item.structured}
    shown = [f"{name}: {'yes' if ok else 'no'}" for name, ok in found.items() if ok is not None]
    if item.seconds is not None:
        shown.append(f"{item.seconds:.1f} s a call")
    told = ("; ".join(shown), item.note, item.problem)
    return "\n".join([*lines, *(f"     {words}" for words in told if words)])
