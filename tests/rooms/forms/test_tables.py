"""The long table of answers by form: levels, coverage, pairs of conditions, draws by scenario."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from rooms.forms.metrics import measured
from rooms.forms.records import (
    COMPARISONS,
    FAMILY,
    ChoiceQuestion,
    ClozeQuestion,
    Condition,
    FormAnswer,
    Formed,
    FormScore,
    FreeformQuestion,
    Level,
)
from rooms.forms.scores import scored, word_counts, word_scores
from simulrag.metrics.table import Measurement, csv_of, frame_of

LEVELS: tuple[Level, ...] = ("base", "reasoning", "hypothetical")


def row(
    number: int, value: float | None, condition: Condition = "nothing", level: Level = "base"
) -> FormScore:
    return FormScore(
        question_id=f"q{number}",
        scenario_id=f"s{number // 3}",
        form="choice",
        level=level,
        condition=condition,
        text="?",
        reference="a",
        values={} if value is None else {"accuracy": value},
        failure="refused" if value is None else None,
    )


def table(scores: Iterable[FormScore], **names: str) -> list[Measurement]:
    return list(measured("urban", list(scores), names=names, bootstrap=200, seed=1))


def overall(rows: list[Measurement], condition: Condition, metric: str = "accuracy") -> Measurement:
    (found,) = (
        one
        for one in rows
        if (one.family, one.method, one.metric, one.level) == (FAMILY, condition, metric, "overall")
    )
    return found


def test_levels_and_their_weighted_mean() -> None:
    values = {"base": [1, 1, 0, 1], "reasoning": [0, 1], "hypothetical": [0, 0, 0]}
    rows = table(
        row(3 * i + k, value, level=level)
        for k, level in enumerate(LEVELS)
        for i, value in enumerate(values[level])
    )
    shown = {one.level: (one.value, one.n) for one in rows if one.family == FAMILY}
    assert shown == {
        "base": (0.75, 4),
        "reasoning": (0.5, 2),
        "hypothetical": (0.0, 3),
        "overall": (pytest.approx(4 / 9), 9),
    }
    assert all(one.lower_95 is not None for one in rows)
    assert csv_of(frame_of(rows)) == csv_of(frame_of(rows))


def test_a_failure_lowers_the_coverage_and_not_the_value() -> None:
    found = overall(table([row(0, 1.0), row(3, 1.0), row(6, None)]), "nothing")
    assert (found.value, found.n) == (1.0, 2)
    assert found.coverage == pytest.approx(2 / 3)
    lost = overall(table([row(0, None), row(3, None)]), "nothing")
    assert (lost.value, lost.n, lost.reason) == (None, 0, "not available: no answer: refused")


def test_pairs_are_of_questions_that_both_answered() -> None:
    before = [row(3 * i, 0.0 if i else 1.0) for i in range(9)] + [row(27, 0.0)]
    after = [row(3 * i, 1.0, "library") for i in range(9)] + [row(27, None, "library")]
    both = [row(3 * i, float(i % 2), "both") for i in range(9)]
    rows = [x for x in table([*before, *after, *both]) if x.family == COMPARISONS]
    gaps = [one for one in rows if one.unit == "difference"]
    assert [(one.method, one.baseline, one.n) for one in gaps] == [
        ("library", "nothing", 9),
        ("both", "nothing", 9),
        ("both", "library", 9),
    ]
    assert gaps[0].value == pytest.approx(8 / 9)
    assert gaps[0].number("p") is not None
    assert gaps[0].more["p_holm"] >= gaps[0].more["p"]
    assert gaps[2].value == pytest.approx(4 / 9 - 1)  # a condition that makes it worse is told so


def test_without_a_common_question_there_is_no_difference() -> None:
    rows = table([row(0, 1.0), row(3, 1.0), row(6, 1.0, "library")])
    (gap,) = (one for one in rows if one.unit == "difference")
    assert (gap.value, gap.reason) == (None, "no choice question has a value under both")


def test_the_forms_and_levels_of_a_seed_are_one_draw() -> None:
    found = overall(table([row(0, 1.0), row(1, 0.0, level="reasoning")]), "nothing")
    assert (found.lower_95, found.reason) == (None, "no interval: one scenario only")


def test_measures_of_each_form() -> None:
    about: dict[str, Any] = {"scenario_id": "s", "source": "urban", "text": "It is <MASK> here."}
    asked: list[Formed] = [
        ChoiceQuestion(question_id="a", options=("w", "x", "y", "z"), answer=2, **about),
        FreeformQuestion(question_id="b", answer="The sea is warm in summer.", **about),
        FreeformQuestion(question_id="c", answer="The sea is cold in winter.", **about),
        ClozeQuestion(question_id="d", answer="warm", **about),
        ClozeQuestion(question_id="e", answer="cold", **about),
    ]
    told = ("y", "The sea is warm in winter.", "It is cold in winter.", "Warm", "")
    pairs = [
        (
            question,
            FormAnswer(
                question_id=question.question_id,
                scenario_id=f"s{i}",
                form=question.form,
                level=question.level,
                condition="nothing",
                answer=text,
                failure=None if text else "truncated",
            ),
        )
        for i, (question, text) in enumerate(zip(asked, told, strict=True))
    ]
    scores = scored(pairs, {}, "no encoder here")
    rows = table(scores, ps="ps[e]")
    assert overall(rows, "nothing").value == 1.0
    assert [overall(rows, "nothing", m).value for m in ("exact", "exact_folded")] == [0.0, 1.0]
    assert overall(rows, "nothing", "ps[e]").reason.endswith(("no encoder here", "truncated"))
    assert overall(rows, "nothing", "fa").reason == "not available: not asked for"
    counts = sum(word_counts(one.reference, one.answer) for one in scores[1:3])
    assert overall(rows, "nothing", "bleu").value == word_scores(counts[None])[0]  # type: ignore[index]
    assert scores[4].values == {}
