"""What each stage used by model: calls, tokens, and money from the price table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from simulrag.metrics.bill import MAIN_TOKENS, TOKENS
from simulrag.metrics.domain import DomainData
from simulrag.metrics.exports import UNCOUNTED, ModelCalls
from simulrag.metrics.families import metric
from simulrag.metrics.table import ESTIMATED, Measurement
from simulrag.records import Usage


@metric("spending")
def spending(data: DomainData) -> Iterator[Measurement]:
    """Add up a stage and model, in the order of their names, over all of the domain's questions.

    All calls that the stage's results rest on count, whoever paid for them and when, at the prices
    of today's table; replies that were billed and could not be used are in the ledger only.
    ``usd`` is undefined for a model without a price.
    """
    for stage, exported in data.exported.items():
        for calls in exported.models:
            place = Measurement(
                family="spending",
                domain=data.domain,
                n=calls.usage.calls,
                more={"stage": stage, "model": calls.shown},
            )
            yield from _rows(data, place, calls)


def _rows(data: DomainData, place: Measurement, calls: ModelCalls) -> Iterator[Measurement]:
    counted = calls.usage.counted
    yield replace(place, metric="calls", value=float(calls.usage.calls))
    for name in TOKENS:
        if counted:
            yield replace(place, metric=name, value=float(getattr(calls.usage, name)))
        elif name in MAIN_TOKENS:
            yield replace(place, metric=name, reason=UNCOUNTED)
    guess = _guessed(calls)
    money = data.pricing(calls.name, calls.usage if counted else guess)
    priced = replace(place, more={**place.more, "as_of": money.as_of if money else ""})
    if money is None:
        reason = f"the price table has no price of {calls.shown}"
        yield replace(place, metric="usd", reason=reason)
    elif counted or money.usd == 0:
        yield replace(priced, metric="usd", value=money.usd)
    else:
        yield replace(priced, metric="usd", reason=UNCOUNTED)
        yield replace(priced, metric="usd" + ESTIMATED, value=money.usd)
    if not counted:
        for name in MAIN_TOKENS:
            yield replace(place, metric=name + ESTIMATED, value=float(getattr(guess, name)))


def _guessed(calls: ModelCalls) -> Usage:
    """Usage by the characters of the stored messages."""
    estimated = calls.estimated
    return Usage(
        calls=estimated.calls,
        input_tokens=round(estimated.input_tokens),
        output_tokens=round(estimated.output_tokens),
    )
