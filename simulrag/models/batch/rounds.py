"""One round of batches: export or submit what waits, ask about it, import what came back.

The upper bound of a batch must fit into the budget before it is sent. Spent is what the ledger
says. Calls that are in a batch already, or whose replies no stage has taken yet, are in no row of
the call cache and count too.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from operator import methodcaller
from pathlib import Path
from typing import Any, TextIO, TypeVar

from simulrag.errors import (
    BudgetMissing,
    BudgetSpent,
    EnvironmentFault,
    InputError,
    ModelError,
    ModelThrottled,
    ModelUnavailable,
    ModelUnreachable,
    ReplyRefused,
    SimulRAGError,
)
from simulrag.models.batch.lines import (
    BatchLimits,
    Bill,
    ImportedReplies,
    Part,
    messages_of,
    parts,
    provider_of,
    sampling_of,
    take_results,
    unbilled,
)
from simulrag.models.budget import Account, Amount
from simulrag.models.live import charged_usage, longest_prompt, run_here
from simulrag.models.pending import (
    BATCH,
    FILE,
    Batch,
    BatchReply,
    PendingCall,
    PendingStore,
    Target,
)
from simulrag.models.prices import no_price
from simulrag.models.providers.faults import known_key, without_key
from simulrag.models.providers.sdk import Batches, BatchState
from simulrag.models.settings import BudgetLimits
from simulrag.records import Record, Usage

_ASKED = ("sample_index", "messages", "schema")

MOST_LINES = 2
"""Lines of results for each request: one, and perhaps an empty one."""
Result = TypeVar("Result")


class WrittenBatch(Record):
    """One batch file that was written, or one batch that was sent (``provider_id``)."""

    name: str
    requests: int
    size_bytes: int
    path: str = ""
    provider_id: str = ""


class BatchProgress(Record):
    """A submitted batch and how far it is.

    ``problem``: why its provider could not be asked, or its results not read to the end. ``state``
    None without a problem: its submission was interrupted.
    """

    batch: Batch
    state: BatchState | None = None
    problem: str = ""


def counts(calls: Iterable[PendingCall]) -> dict[str, int]:
    """Count the calls that wait to be sent, are in a batch, or are answered."""
    totals = {"waiting": 0, "sent": 0, "answered": 0}
    for call in calls:
        state = "answered" if call.reply is not None else "waiting" if call.waiting else "sent"
        totals[state] += 1
    return totals


def export(
    store: PendingStore, folder: Path, limits: BatchLimits | None = None
) -> list[WrittenBatch]:
    """Write what waits to ``folder``, a file a batch. Raises EnvironmentFault, InputError."""
    written = []
    for part in parts(store.calls(), limits):
        path = folder / f"{part.name}.jsonl"
        content = part.text.encode()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise EnvironmentFault(
                f"{path} cannot be written: {error.strerror}; name another folder with --out"
            ) from None
        written.append(
            WrittenBatch(
                name=part.name, requests=len(part.calls), size_bytes=len(content), path=str(path)
            )
        )
    return written


def export_plain(store: PendingStore, file: Path) -> int:
    """Write what waits to one file, for whoever answers by other ways; the number of calls.

    A line is a JSON object: custom_id, stage, task, sample_index, messages and schema (null: free
    text). ``read_files`` takes the replies: custom_id, text and model. Raises EnvironmentFault.
    """
    count = 0
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", encoding="utf-8") as out:
            for call in store.calls():
                if call.waiting:
                    line = {"custom_id": call.id, "stage": call.stage, "task": call.task}
                    asked = {name: call.request.get(name) for name in _ASKED}
                    out.write(json.dumps(line | asked) + "\n")
                    count += 1
    except OSError as error:
        raise EnvironmentFault(f"{file} cannot be written: {error.strerror}") from None
    return count


def submit(
    store: PendingStore,
    check: Callable[[PendingStore, Part], None],
    *,
    again: bool,
) -> Iterable[WrittenBatch]:
    """Send what waits; one item a batch, when it is sent.

    ``check`` raises where a batch may not be sent (``spending.BatchBudget.check``). ``again``:
    calls of an interrupted submission are sent once more. Raises InputError where there is one and
    ``again`` is False, and what ``check`` and ``at_provider`` raise.
    """
    for batch in store.batches():
        if batch.provider_id is not None:
            continue
        if not again:
            raise InputError(
                f"sending the batch {batch.name} was interrupted, and whether the provider took it "
                "is not known. Look at your account there: where it is listed, import its result "
                "file; where not, `simulrag batch submit --again` sends its calls once more"
            )
        _close(store, batch.name)
    for part in parts(store.calls()):
        check(store, part)
        yield _send(store, part)


def status(store: PendingStore) -> list[BatchProgress]:
    """Ask about every submitted batch at its provider, and remember the answer."""
    progress = []
    for batch in store.batches():
        if batch.provider_id is None:
            progress.append(BatchProgress(batch=batch))
            continue
        asked = methodcaller("state", batch.provider_id)
        try:
            state: BatchState = at_provider(batch.target, asked)
        except SimulRAGError as error:  # the others may be had all the same
            progress.append(BatchProgress(batch=batch, problem=str(error)))
            continue
        known = batch.model_copy(update={"status": state.status, "ended": state.ended})
        store.put_batch(known)
        progress.append(BatchProgress(batch=known, state=state))
    return progress


def fetch(
    store: PendingStore, bill: Bill = unbilled
) -> tuple[ImportedReplies, list[BatchProgress]]:
    """Import the results of every batch that has ended; all are listed as they stand then.

    Calls that an ended batch did not answer wait to be sent again. A batch with a problem stays:
    what came of it is taken, and the next import asks for the rest.
    """
    total = ImportedReplies()
    progress = []
    for item in status(store):
        batch, state = item.batch, item.state
        problem = item.problem
        if state is not None and state.ended and batch.provider_id is not None:
            with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as lines:
                try:
                    total += _download(batch, batch.provider_id, lines)
                except SimulRAGError as error:
                    problem = str(error)
                finally:  # what came before is paid for
                    lines.seek(0)
                    total += take_results(store, lines, batch.name, bill)
            if not problem:
                total += ImportedReplies(again=_close(store, batch.name))
        progress.append(item.model_copy(update={"problem": problem}))
    return total, progress


def give_up(store: PendingStore, name: str) -> int:
    """Forget a batch that its provider has no longer; its calls without a reply wait again.

    Returns how many: they are sent, and paid for, anew. Raises InputError for no such batch.
    """
    if name not in {batch.name for batch in store.batches()}:
        raise InputError(f"no batch '{name}' is open; `simulrag batch status` names those that are")
    return _close(store, name)


def read_files(store: PendingStore, files: list[Path], bill: Bill = unbilled) -> ImportedReplies:
    """Import result files. Raises InputError for one that cannot be read."""
    total = ImportedReplies()
    for file in files:
        try:
            # What is no UTF-8 becomes halves of surrogates: its line alone is refused.
            with file.open(encoding="utf-8-sig", errors="surrogateescape") as lines:
                total += take_results(store, lines, file.name, bill)
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror}") from None
    return total


def _download(batch: Batch, id: str, file: TextIO) -> ImportedReplies:
    """Write a batch's result lines to a file, without the key; what is too long is refused.

    Raises as ``at_provider`` does.
    """
    from simulrag.models.providers.attempts import lines_of

    provider = provider_of(batch.target)
    key = known_key(provider.server.key_variable)

    refused: list[str] = []

    async def work(remote: Batches) -> None:
        count = 0
        async for response in remote.results(id):
            async for line in lines_of(response, provider):
                count += 1
                if count > MOST_LINES * batch.size:
                    what = f"more results of {batch.name} than its {batch.size} requests"
                    raise ModelUnavailable(f"{provider.server.base_url} sends {what}")
                if line is None:
                    why = f"larger than {provider.reply_mb:g} MB"
                    refused.append(f"{batch.name}, line {count}: {why}")
                file.write(without_key((line or "").rstrip("\n"), key) + "\n")

    at_provider(batch.target, work)
    return ImportedReplies(refused=tuple(refused))


def _send(store: PendingStore, part: Part) -> WrittenBatch:
    # Written down before it is sent: a kill in between must not send, and pay, twice unseen.
    batch = Batch(name=part.name, target=part.target, size=len(part.calls))
    if not store.add_batch(batch):
        raise InputError(f"another `simulrag batch submit` is sending {part.name}; let it end")
    store.put(*(call.model_copy(update={"batch": part.name}) for call in part.calls))
    try:
        id = at_provider(part.target, lambda remote: remote.create(part))
    except SimulRAGError as error:
        if was_not_taken(error):
            store.put(*part.calls)
            store.remove_batch(part.name)
        raise
    store.put_batch(batch.model_copy(update={"provider_id": id, "status": "sent"}))
    size = sum(len(line) + 1 for line in part.lines)
    return WrittenBatch(name=part.name, requests=len(part.calls), size_bytes=size, provider_id=id)


def _close(store: PendingStore, name: str) -> int:
    """Forget a batch; its calls that have no reply wait again. Return how many."""
    left = [call for call in store.calls() if call.batch == name and call.reply is None]
    store.put(*(call.model_copy(update={"batch": None}) for call in left))
    store.remove_batch(name)
    return len(left)


class BatchBudget:
    """The budget of a project as ``submit`` asks it, part by part."""

    def __init__(self, limits: BudgetLimits, account: Account) -> None:
        self._limits = limits
        self._account = account

    def check(self, store: PendingStore, part: Part) -> None:
        """Do nothing where the part may be sent.

        Raises BudgetMissing for paid calls without a limit, BudgetSpent where the part does not fit
        and InputError where a model has no price or its replies no longest length.
        """
        provider = provider_of(part.target)
        if not provider.paid:
            return
        if not self._limits.given:
            raise BudgetMissing(
                f"a batch of {len(part.calls)} calls to {part.target.provider}:{part.target.model} "
                "costs money and there is no budget; nothing was sent. Set operations.budget in "
                "params.yaml, for example 'budget: {usd: 5}'"
            )
        self._account.update()
        under_way = self._sum(call for call in store.calls() if not call.waiting)
        bound = self._sum(part.calls)
        spent = self._account.spent
        if not (spent + under_way + bound).within(self._limits):
            raise BudgetSpent(
                f"the batch {part.name} of {len(part.calls)} calls may cost up to {bound.usd:.2f} "
                f"USD and {bound.tokens:,} tokens; with {spent.usd:.2f} USD and {spent.tokens:,} "
                f"tokens spent, and {under_way.usd:.2f} USD and {under_way.tokens:,} tokens in "
                "batches, the budget would be passed. It was not sent: raise operations.budget, or "
                "lower sampling.max_output_tokens, which bounds each reply"
            )

    def bill(self, call: PendingCall) -> PendingCall:
        """Put a batch's reply into the ledger when it comes: it is paid, whoever takes it.

        A file by hand, a free model and a refusal cost nothing. What nobody bounds is left to the
        stage that takes it.
        """
        reply = call.reply
        free = reply is None or reply.service == FILE or not provider_of(call.target).paid
        if reply is None or free or (reply.failure is not None and not reply.usage.calls):
            return call
        try:
            used = self._used(call, reply)
        except InputError:
            return call
        self._account.ledger.note(call.target.full_name, used, reply.service)
        return call.model_copy(update={"reply": reply.model_copy(update={"billed": True})})

    def _sum(self, calls: Iterable[PendingCall]) -> Amount:
        return sum(map(self._amount, calls), start=Amount())

    def _amount(self, call: PendingCall) -> Amount:
        """Return what a call took, where its reply is here; else the most that it may take."""
        name = call.target.full_name
        provider = provider_of(call.target)
        if not provider.paid or (call.reply is not None and call.reply.billed):
            return Amount()
        if self._limits.usd is not None and self._account.prices.find(name) is None:
            raise no_price(name)
        if call.reply is None:
            request: Any = call.request
            prompt = longest_prompt(messages_of(call), request["schema"])
            return self._account.bound(name, prompt, _longest(call), BATCH)
        return self._account.amount(name, self._used(call, call.reply), call.reply.service)

    def _used(self, call: PendingCall, reply: BatchReply) -> Usage:
        request: Any = call.request
        text = None if reply.failure_kind == "truncated" else reply.text
        longest = self._account.longest_reply(call.target.full_name, _longest(call))
        free = reply.service == FILE
        used = reply.usage.model_copy(update={"calls": 1})
        return charged_usage(
            used, messages_of(call), request["schema"], text, longest, guess=not free
        )


def _longest(call: PendingCall) -> int | None:
    return sampling_of(call).max_output_tokens or provider_of(call.target).max_output_tokens


def at_provider(target: Target, work: Callable[[Batches], Awaitable[Result]]) -> Result:
    """Do ``work`` with a target's batches, by the client that its calls go by.

    Raises what ``SdkProvider.exchange`` does: ModelError, EnvironmentFault for a key that is
    missing or not accepted, InputError for what the server does not know. ``was_not_taken`` tells
    which of them leave no doubt that nothing was sent.
    """
    provider = provider_of(target)

    async def exchanged() -> Result:
        try:
            return await provider.exchange(lambda client, key: work(provider.batches(client, key)))
        finally:
            await provider.close()

    return run_here(exchanged())


def was_not_taken(error: SimulRAGError) -> bool:
    """Tell whether the provider certainly made no batch.

    A timeout or a lost connection leaves that open.
    """
    never = (ReplyRefused, ModelThrottled, ModelUnreachable)
    return isinstance(error, never) or not isinstance(error, ModelError)
