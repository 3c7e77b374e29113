"""What may be spent: an upper bound is reserved before each paid attempt, and settled after it.

Spent is what the call cache says (``simulrag.calls.ledger``): usage times the price table. A budget
so holds over stages, processes and restarts, and what is stored costs nothing. An attempt begins
where spent, all that is under way and its own bound stay within the limits together. While others
are under way it waits for them, since most end below their bound; where nobody is, the budget
would be passed, and the run stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date

from pydantic import BaseModel, ConfigDict, Field

from simulrag.calls import Hold, Ledger
from simulrag.errors import BudgetMissing, BudgetSpent, ModelError
from simulrag.models.base import ProviderReply
from simulrag.models.prices import ModelName, PriceTable, no_longest_reply, no_price
from simulrag.records import Usage

POLL_S = 0.2
STORING_S = 60.0
"""Longest time between the end of an attempt and the commit of its row."""


class BudgetLimits(BaseModel):
    """What model calls may cost. Without a limit no paid call is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    usd: float | None = Field(default=None, ge=0, description="most money to spend, in US dollars")
    tokens: int | None = Field(
        default=None, ge=0, description="most tokens to use, prompts and replies together"
    )
    since: date | None = Field(
        default=None, description="count what was paid since this day (UTC); else the whole cache"
    )

    @property
    def given(self) -> bool:
        """Whether there is any limit."""
        return self.usd is not None or self.tokens is not None


@dataclass(frozen=True)
class Amount:
    """Money in US dollars, and tokens, prompts and replies together."""

    usd: float = 0.0
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.usd + other.usd, self.tokens + other.tokens)

    def within(self, limits: BudgetLimits) -> bool:
        """Whether it passes neither limit."""
        money = limits.usd is None or self.usd <= limits.usd
        return money and (limits.tokens is None or self.tokens <= limits.tokens)


class Account:
    """What a cache's paid calls cost so far. A model without a price counts its tokens alone."""

    def __init__(self, ledger: Ledger, prices: PriceTable, since: date | None = None) -> None:
        self.ledger = ledger
        self.prices = prices
        self.spent = Amount()
        self.calls = 0
        self._since = "" if since is None else since.isoformat()

    def amount(self, name: ModelName, usage: Usage, service: str = "") -> Amount:
        """What some usage of a model costs, by the service that it was bought from."""
        price = self.prices.find(name)
        money = 0.0 if price is None else price.cost(usage) * self.prices.share(service)
        return Amount(money, usage.input_tokens + usage.output_tokens)

    def update(self) -> set[str]:
        """Add what was committed since the last time; the keys of those calls."""
        keys: set[str] = set()
        for item in self.ledger.news():
            if item.time >= self._since:
                self.spent += self.amount(item.name, item.usage, item.service)
                self.calls += item.usage.calls
            if item.key is not None:
                keys.add(item.key)
        return keys


class Budget:
    """The budget of one paid model in one process: see the module. Bound to one event loop.

    ``max_output``: the longest reply in tokens where the sampling names none; else the price
    table's. Raises InputError where a budget in money meets a model without a price.
    """

    def __init__(
        self,
        limits: BudgetLimits,
        account: Account,
        name: ModelName,
        *,
        max_output: int | None = None,
        timeout_s: float = 120.0,
    ) -> None:
        self._limits = limits
        self._account = account
        self._name = name
        self._price = account.prices.find(name)
        if limits.usd is not None and self._price is None:
            raise no_price(name)
        listed = None if self._price is None else self._price.max_output
        self._max_output = max_output if max_output is not None else listed
        self._lasts_s = timeout_s + STORING_S
        account.update()  # a large cache takes seconds, in which no writer should be held up
        self._calls: set[CallBill] = set()
        self._stored: dict[str, CallBill] = {}
        self._turn = asyncio.Lock()
        self._ended = asyncio.Event()
        self._stopped = False
        self._refused = 0
        self._needed = ""

    @contextmanager
    def call(self, key: str) -> Iterator[CallBill]:
        """Around all attempts at the call of this key; its row is committed afterwards.

        Where they fail, what was billed all the same is noted in the ledger.
        """
        bill = CallBill(self)
        self._calls.add(bill)
        try:
            yield bill
        except BaseException:
            for service, used in bill.used.items():
                self._account.ledger.note(self._name, used, service)
            raise
        else:
            bill.use_arrived()
            self._stored[key] = bill
        finally:
            self._calls.discard(bill)

    async def reserve(self, bill: CallBill, prompt_tokens: int, max_output: int | None) -> None:
        """Hold an attempt's upper bound, after waiting while others may end below theirs.

        Raises BudgetMissing without a limit, BudgetSpent where it does not fit and InputError where
        the length of a reply has no bound.
        """
        if not self._limits.given:
            raise BudgetMissing(self._told_missing())
        bound = self._bound(prompt_tokens, max_output)
        async with self._turn:
            while not self._stopped:
                self._ended.clear()
                fits = await self._account.ledger.together(lambda: self._try(bill, bound))
                if fits:
                    return
                self._stopped = fits is False
                if not self._stopped:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._ended.wait(), POLL_S)
        self._refused += 1
        self._needed = self._told_needed(bound, max_output)
        raise self.stopped()

    def settle(self, bill: CallBill, usage: Usage | None) -> None:
        """An attempt has ended; ``usage`` None: nobody said what it took, so nothing counts."""
        bill.held = None
        if usage is not None:
            bill.add(usage)
        self._ended.set()

    def stopped(self) -> BudgetSpent:
        """Why the run stops, with what is left of it as far as it is known."""
        limits, spent = self._limits, self._account.spent
        named = [] if limits.usd is None else [f"{dollars(limits.usd)} USD"]
        named += [] if limits.tokens is None else [f"{limits.tokens:,} tokens"]
        left = f"; at least {self._refused} calls left" if self._refused else ""
        return BudgetSpent(
            f"the budget of {' and '.join(named)} would be passed: spent {spent.usd:.4f} USD and "
            f"{spent.tokens:,} tokens on {self._account.calls:,} calls{left}{self._needed}; "
            "everything paid for is kept: raise operations.budget in params.yaml and run the same "
            "command again"
        )

    def close(self) -> None:
        """Give back what this process told others that it holds."""
        self._account.ledger.close()

    def _try(self, bill: CallBill, bound: Amount) -> bool | None:
        """Hold the bound: True; False: it will never fit; None: it may, when others have ended."""
        bill.held = None  # a busy database has this tried again
        for key in self._account.update():
            self._stored.pop(key, None)  # its row is counted from now on
        others = self._account.ledger.others()
        mine = self._sum([*self._calls, *self._stored.values()])
        taken = self._account.spent + mine + Amount(others.usd, others.tokens)
        fits = (taken + bound).within(self._limits)
        held = mine + bound if fits else mine  # also where not: others wait for what ended here
        self._account.ledger.hold(Hold(usd=held.usd, tokens=held.tokens), self._lasts_s)
        if fits:
            bill.held = bound
            return True
        waiting_helps = others != Hold() or any(call.held is not None for call in self._calls)
        return None if waiting_helps else False

    def _sum(self, bills: Iterable[CallBill]) -> Amount:
        total = Amount()
        for bill in bills:
            total += bill.held or Amount()
            for service, used in bill.used.items():
                total += self._account.amount(self._name, used, service)
        return total

    def _bound(self, prompt_tokens: int, max_output: int | None) -> Amount:
        longest = max_output if max_output is not None else self._max_output
        if longest is None:
            raise no_longest_reply(self._name[2])
        money = 0.0 if self._price is None else self._price.bound(prompt_tokens, longest)
        return Amount(money, prompt_tokens + longest)

    def _told_needed(self, bound: Amount, max_output: int | None) -> str:
        """What one call takes at most: what stops a budget that the expected cost fits into."""
        money = "" if self._limits.usd is None else f"{bound.usd:.4f} USD and "
        told = f"; the next one may take up to {money}{bound.tokens:,} tokens"
        if max_output is None:
            told += f", as {self._name[2]} may write that much: set sampling.max_output_tokens"
        return told

    def _told_missing(self) -> str:
        return (
            f"{self._name[0]}:{self._name[2]} costs money and there is no budget; no call was "
            "made. Set operations.budget in params.yaml, for example 'budget: {usd: 5}' or "
            "'budget: {tokens: 2000000}' (`simulrag plan` estimates what is needed), or state "
            "'paid: false' in its llm section where the server is your own"
        )


def dollars(amount: float) -> str:
    """With two decimals, with more where they would round it."""
    return f"{amount:.2f}" if round(amount, 2) == amount else f"{amount:g}"


class CallBill:
    """What one call's attempts took so far, by service, and what the one under way holds.

    ``arrived``: replies of a batch. They count when the call is over: one that ends before its
    reply could be mended leaves them on the list of pending calls, to be used by the next.
    """

    def __init__(self, budget: Budget) -> None:
        self.used: dict[str, Usage] = {}
        self.arrived: list[ProviderReply] = []
        self.held: Amount | None = None
        self._budget = budget

    def add(self, usage: Usage, service: str = "") -> None:
        """Count what was billed."""
        self.used[service] = self.used.get(service, Usage()) + usage

    def use_arrived(self) -> None:
        """Count the replies of a batch."""
        for reply in self.arrived:
            self.add(reply.usage, reply.service)

    async def attempt(
        self,
        once: Callable[[], Awaitable[ProviderReply]],
        prompt_tokens: int,
        max_output: int | None,
    ) -> ProviderReply:
        """One attempt, its bound reserved before and what it took settled after. See Budget."""
        used: Usage | None = None
        try:
            await self._budget.reserve(self, prompt_tokens, max_output)
            reply = await once()
            used = reply.usage
        except ModelError as error:
            used = None if error.usage is None else Usage.model_validate(error.usage)
            raise
        finally:
            self._budget.settle(self, used)
        return reply
