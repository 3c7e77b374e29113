"""What batches may spend: the upper bound of a batch must fit into the budget before it is sent.

Spent is what the ledger says. Calls that are in a batch already, or whose replies no stage has
taken yet, are in no row of the call cache and count here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from simulrag.errors import BudgetMissing, BudgetSpent
from simulrag.models.batch.lines import Part, messages_of, provider_of, sampling_of
from simulrag.models.budget import Account, Amount
from simulrag.models.live import longest_prompt
from simulrag.models.pending import BATCH, PendingCall, PendingStore
from simulrag.models.prices import no_price
from simulrag.models.settings import BudgetLimits


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

    def _sum(self, calls: Iterable[PendingCall]) -> Amount:
        return sum(map(self._amount, calls), start=Amount())

    def _amount(self, call: PendingCall) -> Amount:
        """What a call took, where its reply is here; else the most that it may take."""
        name = call.target.full_name
        provider = provider_of(call.target)
        if not provider.paid:
            return Amount()
        if call.reply is not None:
            return self._account.amount(name, call.reply.usage, call.reply.service)
        if self._limits.usd is not None and self._account.prices.find(name) is None:
            raise no_price(name)
        request: Any = call.request
        prompt = longest_prompt(messages_of(call), request["schema"])
        longest = sampling_of(call).max_output_tokens or provider.max_output_tokens
        return self._account.bound(name, prompt, longest, BATCH)
