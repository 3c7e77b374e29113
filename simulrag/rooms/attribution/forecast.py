"""CIL of dated articles about a question that was resolved later, with a model stating chances."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Annotated

from pydantic import Field, StrictInt

from simulrag.errors import InputError
from simulrag.method.asking import together
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.records import Question
from simulrag.rooms.attribution.intervention import (
    NEAREST,
    WINDOW,
    Cil,
    Conditional,
    Intervened,
    Query,
    cil,
    queries,
)
from simulrag.task import Task


class ReasonedChance(Reply):
    """Reply to ``chance_given``; at least three reasons on each side."""

    reasons_no: Annotated[list[Text], Field(min_length=3)]
    reasons_yes: Annotated[list[Text], Field(min_length=3)]
    probability: Annotated[float, Field(strict=True, ge=0, le=1)]


class JointChance(Reply):
    """Reply to ``chance_joint``."""

    thoughts: Text
    probability: Annotated[float, Field(strict=True, ge=0, le=1)]


class Relevance(Reply):
    """Reply to ``relevance``: 1 (irrelevant) to 6."""

    thoughts: Text
    rating: Annotated[StrictInt, Field(ge=1, le=6)]


RELEVANCE = Task("relevance", Relevance)
CHANCE_GIVEN = Task("chance_given", ReasonedChance, tokens=250)
CHANCE_JOINT = Task("chance_joint", JointChance)

GROUP_DAYS = 10
SAME_EVENT = 0.8
"""Jaccard similarity of words from which two articles report one event (ours; none is given)."""
_STARRED = re.compile(r"\*\s*(-?\d*\.?\d+)\s*\*")


@dataclass(frozen=True)
class Forecast:
    """A yes-or-no question, the day on which it was resolved, and how."""

    text: str
    resolved: date | datetime | None
    truth: bool
    background: str = ""
    criteria: str = ""


def forecast_of(question: Question) -> Forecast | None:
    """A question as a forecast; None where it has no day of resolution or no outcome."""
    if question.resolved is None or question.outcome is None:
        return None
    return Forecast(question.text, moment_of(question.resolved), question.outcome)


def moment_of(text: str) -> date | datetime:
    """A day or a moment in ISO form. Raises InputError."""
    try:
        return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"'{text}' is neither a day nor a moment; write 2024-08-01") from None


@dataclass(frozen=True)
class Article:
    """A report of something that happened. ``rating``: its relevance, 1 to 6; None: asked for."""

    text: str
    day: date | datetime | None
    rating: int | None = None


@dataclass(frozen=True)
class ForecastCil:
    """CIL of each article in the order given, and how many were merged into an earlier report.

    A merged article has the value of the report that it was merged into.
    """

    name: str
    items: tuple[Intervened, ...]
    merged: int


async def forecast_cil(
    question: Forecast,
    articles: Sequence[Article],
    ask: Asker,
    *,
    nearest: int = NEAREST,
    repeats: int = 2,
) -> ForecastCil:
    """``cil`` of articles; every chance is stated ``repeats`` times and averaged.

    At defaults at most 96 calls an article, those for joint chances shared by the articles of a
    group. An article without a date has no value, with the reason. Raises InputError for a question
    without a day of resolution and for an article that is not older than it (it may tell the
    outcome), ModelError where a call failed.
    """
    places = merge_reports(articles)
    kept = [i for i, place in enumerate(places) if i == place and articles[i].day is not None]
    groups = groups_of([articles[i] for i in kept], question.resolved)
    shown = [articles[i] for i in kept]
    if largest_window(groups) > nearest:
        shown = await _rated(question, shown, ask)
    ratings = [float(one.rating or 0) for one in shown]
    asked = queries(groups, ratings=ratings, nearest=nearest)
    stated = await together(_stated(question, shown, query, ask, repeats) for query in asked)
    found = cil(
        groups,
        dict(zip(asked, stated, strict=True)).__getitem__,
        truth=question.truth,
        ratings=ratings,
        nearest=nearest,
    )
    return ForecastCil(found.name, _in_place(places, kept, found), len(places) - len(set(places)))


def groups_of(articles: Sequence[Article], resolved: date | datetime | None) -> list[int]:
    """The group of each dated article: one for every ten days (UTC) since the oldest.

    Raises InputError as ``forecast_cil`` does.
    """
    if resolved is None:
        raise InputError("CIL needs the day on which the question was resolved; give `resolved`")
    days = [_day(one.day) for one in articles if one.day is not None]
    if len(days) != len(articles):
        raise InputError("an article without a date belongs to no group; leave it out")
    for article, day in zip(articles, days, strict=True):
        if day >= _day(resolved):
            raise InputError(
                f"the article of {day} ({article.text[:60]!r}) is not older than the question's "
                f"resolution ({_day(resolved)}) and may tell its outcome; leave it out"
            )
    return [(day - min(days)).days // GROUP_DAYS for day in days]


def merge_reports(articles: Sequence[Article]) -> list[int]:
    """For each article the index of the report that it repeats; its own where it repeats none.

    Several reports of one event in a group would break the method's third assumption. The oldest
    of them stays.
    """
    words = [frozenset(re.findall(r"\w+", one.text.casefold())) for one in articles]
    order = sorted(
        range(len(articles)), key=lambda i: (_day(articles[i].day or date.max).toordinal(), i)
    )
    place: dict[int, int] = {}
    for i in order:
        firsts = (j for j in place if place[j] == j)
        place[i] = next((j for j in firsts if _alike(words[i], words[j]) >= SAME_EVENT), i)
    return [place[i] for i in range(len(articles))]


def largest_window(groups: Sequence[int]) -> int:
    """The most articles that any article's window holds."""
    return max((sum(0 < own - other <= WINDOW for other in groups) for own in groups), default=0)


def starred_probability(text: str) -> float:
    """The last number between asterisks of a reply in the published form, such as ``*0.73*``.

    For traces from elsewhere; our own replies are objects. Raises ValueError where there is none,
    or where it lies outside 0 to 1.
    """
    found = _STARRED.findall(text)
    if not found:
        raise ValueError("no number stands between asterisks; give it as *0.73*")
    chance = float(found[-1])
    if not 0 <= chance <= 1:
        raise ValueError(f"*{found[-1]}* is not a probability between 0 and 1")
    return chance


async def _rated(question: Forecast, articles: list[Article], ask: Asker) -> list[Article]:
    async def rating(article: Article) -> Article:
        if article.rating is not None:
            return article
        completion = await ask.ask(
            RELEVANCE,
            question=question.text,
            background=question.background,
            criteria=question.criteria,
            article=article.text,
        )
        return replace(article, rating=completion.parsed.rating)

    return await together(rating(article) for article in articles)


async def _stated(
    question: Forecast, articles: Sequence[Article], query: Query, ask: Asker, repeats: int
) -> float:
    happened = [articles[i].text for i in sorted(query.happened)]
    absent = [articles[i].text for i in sorted(query.absent)]

    async def once(index: int) -> float:
        if isinstance(query, Conditional):
            reply = await ask.ask(
                CHANCE_GIVEN,
                sample_index=index,
                question=question.text,
                background=question.background,
                criteria=question.criteria,
                happened=happened,
                absent=absent,
                situation=articles[query.item].text,
                occurs=query.occurs,
            )
        else:
            reply = await ask.ask(
                CHANCE_JOINT, sample_index=index, happened=happened, absent=absent
            )
        return float(reply.parsed.probability)

    return math.fsum(await together(once(index) for index in range(repeats))) / repeats


def _in_place(places: Sequence[int], kept: Sequence[int], found: Cil) -> tuple[Intervened, ...]:
    by_article = dict(zip(kept, found.items, strict=True))
    undated = Intervened(None, 0, 0, failure="it has no date, and CIL is of dated articles alone")
    return tuple(by_article.get(place, undated) for place in places)


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0


def _day(moment: date | datetime) -> date:
    """The day in UTC. Raises InputError for a time of day without a zone."""
    if not isinstance(moment, datetime):
        return moment
    if moment.tzinfo is None:
        raise InputError(f"{moment.isoformat()} has no time zone; give one, or the day by itself")
    return moment.astimezone(UTC).date()


def brier(chances: Sequence[float], truths: Sequence[bool]) -> float:
    """The mean squared distance of stated chances from the truth, 0 to 1 (the paper prints x 100).

    Raises ValueError for lists that do not fit or are empty.
    """
    pairs = list(zip(chances, truths, strict=True))
    if not pairs:
        raise ValueError("a Brier score needs at least one forecast")
    return math.fsum((chance - truth) ** 2 for chance, truth in pairs) / len(pairs)
