"""What may be spent: an upper bound is reserved before each paid call, and settled after it.

Spent is what the call cache's ledger says (``simulrag.calls.rows``): usage times the price. A
budget so holds over stages and restarts, and what is stored costs nothing. A call begins where
spent, all that is under way and its own bound stay within the limits together: the limits are
never passed by one process, nor by several that share a cache in Redis. Processes that share a
folder see what the others have spent, not what they have under way. While calls are under way the
next one waits for them, since most end below their bound; where none is, the run stops.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from simulrag.calls import CallCache, Ledger
from simulrag.errors import BudgetMissing, BudgetSpent
from simulrag.models.prices import ModelName, PriceTable, no_longest_reply, no_price
from simulrag.models.settings import BudgetLimits, ModelSettings
from simulrag.records import Usage

if TYPE_CHECKING:
    from simulrag.models.providers.base import Provider

POLL_S = 0.2
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Amount:
    """Money in US dollars, and tokens, prompts and replies together."""

    usd: float = 0.0
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.usd + other.usd, self.tokens + other.tokens)

    def within(self, limits: BudgetLimits) -> bool:
        """Tell whether it passes neither limit."""
        money = limits.usd is None or self.usd <= limits.usd
        return money and (limits.tokens is None or self.tokens <= limits.tokens)


class Account:
    """What a cache's paid calls cost so far. A model without a price counts its tokens only."""

    def __init__(self, ledger: Ledger, prices: PriceTable, since: date | None = None) -> None:
        self.ledger = ledger
        self.prices = prices
        self.spent = Amount()
        self.calls = 0
        self._since = "" if since is None else since.isoformat()

    def amount(self, name: ModelName, usage: Usage, service: str = "") -> Amount:
        """Return what some usage of a model costs, by the service that it was bought from."""
        price = self.prices.find(name)
        money = 0.0 if price is None else price.cost(usage) * self.prices.share(service)
        return Amount(money, usage.input_tokens + usage.output_tokens)

    def bound(
        self, name: ModelName, prompt_tokens: int, max_output: int | None, service: str = ""
    ) -> Amount:
        """Return the most that one call may take.

        ``max_output`` None: as long a reply as the model's. Raises InputError where the length of a
        reply has no bound.
        """
        price = self.prices.find(name)
        longest = self.longest_reply(name, max_output)
        dearest = 0.0 if price is None else price.bound(prompt_tokens, longest)
        return Amount(dearest * self.prices.share(service), prompt_tokens + longest)

    def longest_reply(self, name: ModelName, max_output: int | None) -> int:
        """Return the most tokens that a reply may have, see ``bound``."""
        price = self.prices.find(name)
        listed = None if price is None else price.max_output
        longest = max_output if max_output is not None else listed
        if longest is None:
            raise no_longest_reply(name[2])
        return longest

    def update(self) -> None:
        """Add what was noted since the last time."""
        for item in self.ledger.news():
            if item.time >= self._since:
                self.spent += self.amount(item.name, item.usage, item.service)
                self.calls += item.usage.calls


class BilledUsage:
    """What one call took so far, by service; it counts as one call of the budget."""

    def __init__(self) -> None:
        self.used: dict[str, Usage] = {}

    def add(self, usage: Usage, service: str = "") -> None:
        """Count what was billed."""
        self.used[service] = self.used.get(service, Usage()) + usage


class Budget:
    """The budget of one paid model in one process: see the module. Bound to one event loop.

    ``max_output``: the longest reply in tokens where a call names none; else the price table's.
    Raises InputError where a budget in money meets a model without a price.
    """

    def __init__(
        self,
        limits: BudgetLimits,
        account: Account,
        name: ModelName,
        *,
        max_output: int | None = None,
    ) -> None:
        self._limits = limits
        self._account = account
        self._name = name
        if limits.usd is not None and account.prices.find(name) is None:
            raise no_price(name)
        self._max_output = max_output
        self._held: dict[BilledUsage, Amount] = {}
        self._turn = asyncio.Lock()
        self._ended = asyncio.Event()
        self._stopped = False
        self._refused = 0
        self._estimated = 0
        self._needed = ""

    @asynccontextmanager
    async def call(
        self, prompt_tokens: int, max_output: int | None = None
    ) -> AsyncIterator[BilledUsage]:
        """Reserve the upper bound of a call with all its attempts; wait until it fits.

        ``prompt_tokens``: an upper bound. What the bill was told is noted in the ledger when the
        call ends, also where it failed. Raises BudgetMissing without a limit, BudgetSpent where the
        bound does not fit and InputError where the length of a reply has no bound.
        """
        if not self._limits.given:
            raise BudgetMissing(self._told_missing())
        bill = BilledUsage()
        longest = self.longest_reply(max_output)
        bound = self._account.bound(self._name, prompt_tokens, longest)
        await self._reserve(bill, bound, max_output)
        try:
            yield bill
        finally:
            try:
                for service, used in bill.used.items():
                    self.note(used, service)
            finally:
                del self._held[bill]
                self._ended.set()
                # Other processes would wait for an amount that is held no longer.
                while not self._account.ledger.hold(lambda *_: self._under_way()):  # noqa: ASYNC110
                    await asyncio.sleep(POLL_S / 10)

    def note(self, usage: Usage, service: str = "") -> None:
        """Count what needs no reservation: the reply of a batch, which is paid for already."""
        self._account.ledger.note(self._name, usage, service)

    def longest_reply(self, max_output: int | None) -> int:
        """Return the most tokens that a reply may have. Raises InputError where nobody says."""
        longest = max_output if max_output is not None else self._max_output
        return self._account.longest_reply(self._name, longest)

    def estimate(self, used: Usage, charged: Usage) -> None:
        """Say once, and wherever the budget stops, which of a server's counts are not charged."""
        sides = ("input_tokens", "output_tokens")
        pairs = [(getattr(used, side), getattr(charged, side)) for side in sides]
        tokens = sum(estimated for counted, estimated in pairs if counted != estimated)
        if tokens and not self._estimated:
            log.warning(
                "%s:%s says of a reply not how many tokens it took, or what cannot be: the budget "
                "charges an estimate",
                self._name[0],
                self._name[2],
            )
        self._estimated += tokens

    def spent(self) -> str:
        """Say ``0.41 of 5 USD``, ``12,000 of 2,000,000 tokens``, or both, over all it counts."""
        self._account.update()
        limits, spent = self._limits, self._account.spent
        parts = [] if limits.usd is None else [f"{spent.usd:.2f} of {dollars(limits.usd)} USD"]
        if limits.tokens is not None:
            parts.append(f"{spent.tokens:,} of {limits.tokens:,} tokens")
        return " and ".join(parts)

    def stopped(self) -> BudgetSpent:
        """Make the error that says why the run stops, with what is left as far as it is known."""
        limits, spent = self._limits, self._account.spent
        named = [] if limits.usd is None else [f"{dollars(limits.usd)} USD"]
        named += [] if limits.tokens is None else [f"{limits.tokens:,} tokens"]
        guess = f" ({self._estimated:,} of them estimated)" if self._estimated else ""
        left = f"; at least {self._refused} calls left" if self._refused else ""
        return BudgetSpent(
            f"the budget of {' and '.join(named)} would be passed: spent {spent.usd:.4f} USD and "
            f"{spent.tokens:,} tokens{guess} on {self._account.calls:,} calls{left}{self._needed}; "
            "everything paid for is kept: raise operations.budget in params.yaml (of a refresh "
            "operations.refresh.budget, in Python budget=) and run the same command again"
        )

    async def _reserve(self, bill: BilledUsage, bound: Amount, max_output: int | None) -> None:
        async with self._turn:
            while not self._stopped:
                self._ended.clear()
                fits = self._try(bill, bound)
                if fits:
                    return
                self._stopped = fits is False
                if not self._stopped:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._ended.wait(), POLL_S)
        self._refused += 1
        self._needed = self._told_needed(bound, max_output)
        raise self.stopped()

    def _try(self, bill: BilledUsage, bound: Amount) -> bool | None:
        """Hold the bound: True; False: it will never fit; None: it may, when others have ended."""
        outcome: bool | None = None

        def work(usd: float, tokens: int) -> tuple[float, int]:
            nonlocal outcome
            self._account.update()
            others = Amount(usd, tokens)
            under_way = Amount(*self._under_way())
            if (self._account.spent + under_way + others + bound).within(self._limits):
                outcome, under_way = True, under_way + bound
            else:
                outcome = None if self._held or others != Amount() else False
            return under_way.usd, under_way.tokens

        if not self._account.ledger.hold(work):
            return None
        if outcome:
            self._held[bill] = bound
        return outcome

    def _under_way(self) -> tuple[float, int]:
        total = sum(self._held.values(), start=Amount())
        return total.usd, total.tokens

    def _told_needed(self, bound: Amount, max_output: int | None) -> str:
        """Say what one call takes at most: it stops a budget that the expected cost fits into."""
        money = "" if self._limits.usd is None else f"{bound.usd:.4f} USD and "
        text = f"; the next one may take up to {money}{bound.tokens:,} tokens"
        if max_output is None:
            text += f", as {self._name[2]} may write that much: set sampling.max_output_tokens"
        return text

    def _told_missing(self) -> str:
        return (
            f"{self._name[0]}:{self._name[2]} costs money and there is no budget; no call was "
            "made. Set operations.budget in params.yaml, for example 'budget: {usd: 5}' or "
            "'budget: {tokens: 2000000}' (budget= in Python; `simulrag plan` estimates), or state "
            "'paid: false' in its llm section where the server is your own"
        )


def open_budget(
    limits: BudgetLimits,
    settings: ModelSettings,
    provider: Provider,
    cache: CallCache,
    prices: PriceTable,
) -> Budget | None:
    """Open the budget of a model whose calls cost money; None where none will cost any.

    Raises InputError for a budget in money and a model without a price.
    """
    if not provider.paid or settings.replay or cache.mode == "replay":
        return None
    account = Account(cache.ledger(), prices, limits.since)
    return Budget(limits, account, settings.full_name, max_output=provider.max_output_tokens)


def dollars(amount: float) -> str:
    """Write an amount with two decimals, with more where they would round it."""
    return f"{amount:.2f}" if round(amount, 2) == amount else f"{amount:g}"
