"""CIL of dated articles: groups, leaks, repeated reports, and what is asked of a model."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from simulrag.errors import InputError, ModelUnavailable
from simulrag.rooms.attribution.forecast import (
    Article,
    Forecast,
    forecast_cil,
    groups_of,
    merge_reports,
    starred_probability,
)
from simulrag.testing import ScriptedModel

START = date(2024, 1, 1)
QUESTION = Forecast("Will the dam be built?", date(2024, 3, 1), truth=True)
EVENTS = ("A court allows the dam.", "Money is found.", "Workers strike for a month.")


def articles(*days: int) -> list[Article]:
    return [
        Article(text, START + timedelta(days=day)) for text, day in zip(EVENTS, days, strict=True)
    ]


def stating(task: str, values: dict[str, object]) -> object:
    if task == "relevance":
        return {"thoughts": "So.", "rating": 3}
    if task == "chance_joint":
        return {"thoughts": "So.", "probability": 0.5}
    reasons = ["a", "b", "c"]
    chance = 0.8 if values["occurs"] else 0.4
    return {"reasons_no": reasons, "reasons_yes": reasons, "probability": chance}


def test_a_group_is_ten_days_since_the_oldest() -> None:
    assert groups_of(articles(0, 9, 10), date(2024, 3, 1)) == [0, 0, 1]


def test_days_are_those_of_utc() -> None:
    """Half past midnight two hours east is the day before."""
    moments = [
        datetime(2024, 1, 1, tzinfo=UTC),
        datetime(2024, 1, 11, 0, 30, tzinfo=timezone(timedelta(hours=2))),
        datetime(2024, 1, 11, 0, 30, tzinfo=UTC),
    ]
    found = [Article(text, moment) for text, moment in zip(EVENTS, moments, strict=True)]
    assert groups_of(found, date(2024, 3, 1)) == [0, 0, 1]
    with pytest.raises(InputError, match="no time zone"):
        groups_of([Article("A", datetime(2024, 1, 1, 12))], date(2024, 3, 1))


@pytest.mark.parametrize("day", [60, 61])
def test_an_article_that_may_tell_the_outcome_is_refused(day: int) -> None:
    with pytest.raises(InputError, match="not older than the question's resolution"):
        groups_of(articles(0, 1, day), START + timedelta(days=60))


def test_a_question_without_a_day_is_refused() -> None:
    with pytest.raises(InputError, match="day on which the question was resolved"):
        groups_of(articles(0, 1, 2), None)


def test_reports_of_one_event_are_merged_into_the_oldest() -> None:
    told = "The court in the capital allows the dam after years"
    found = [
        Article(f"{told}!", date(2024, 1, 5)),
        Article("Workers strike.", date(2024, 1, 2)),
        Article(told.upper(), date(2024, 1, 3)),
        Article(f"{told} indeed", None),
    ]
    assert merge_reports(found) == [2, 1, 2, 2]


async def test_values_calls_and_what_a_prompt_is_shown() -> None:
    ask = ScriptedModel(by_task=stating)
    found = await forecast_cil(QUESTION, articles(0, 10, 20), ask)
    assert found.name == "cil[k=4,w=3]"
    assert [item.value for item in found.items] == [pytest.approx(0.4)] * 3
    tasks = [call["task"] for call in ask.asked]
    # Windows of 0, 1 and 2 articles, each chance twice: 2 * (2 + 4 + 8) and 2 * (2 + 4).
    assert (tasks.count("chance_given"), tasks.count("chance_joint")) == (28, 12)
    assert "relevance" not in tasks  # no window is too long
    last = [call["happened"] for call in ask.asked if call.get("situation") == EVENTS[2]]
    for happened in (EVENTS[:2], EVENTS[:1], EVENTS[1:2], ()):
        assert last.count(list(happened)) == 4  # it happened or not, each twice


async def test_a_long_window_is_rated_first() -> None:
    ask = ScriptedModel(by_task=stating)
    found = await forecast_cil(QUESTION, articles(0, 0, 20), ask, nearest=1)
    assert [call["task"] for call in ask.asked].count("relevance") == 3
    assert found.items[2].held == 1
    rated = [replace(article, rating=4) for article in articles(0, 0, 20)]
    ask = ScriptedModel(by_task=stating)
    await forecast_cil(QUESTION, rated, ask, nearest=1)
    assert "relevance" not in [call["task"] for call in ask.asked]


async def test_undated_and_repeated_articles() -> None:
    found = await forecast_cil(
        QUESTION,
        [*articles(0, 10, 20), Article("Nobody knows when.", None), articles(0, 10, 25)[2]],
        ScriptedModel(by_task=stating),
    )
    assert found.items[3].value is None
    assert "no date" in str(found.items[3].failure)
    assert (found.merged, found.items[4]) == (1, found.items[2])


async def test_nothing_to_hold_against() -> None:
    ask = ScriptedModel()
    assert (await forecast_cil(QUESTION, [], ask)).items == ()
    assert ask.asked == []


async def test_a_failed_call_gives_no_value() -> None:
    def failing(task: str, values: dict[str, object]) -> object:
        return ModelUnavailable("down") if task == "chance_joint" else stating(task, values)

    with pytest.raises(ModelUnavailable):
        await forecast_cil(QUESTION, articles(0, 10, 20), ScriptedModel(by_task=failing))


def test_published_replies_are_read_by_their_last_number() -> None:
    assert starred_probability("first *0.5*, then * 0.6 *") == 0.6
    for text, words in (
        ("70 %", "no number"),
        ("*70 %*", "no number"),
        ("", "no number"),
        ("*1.3*", "not a probability"),
        ("*-0.1*", "not a probability"),
    ):
        with pytest.raises(ValueError, match=words):
            starred_probability(text)
