"""From what models said of answers to values, reasons and rows."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from flows.report.blocks import Table, Text
from rooms.score.page import against_rag, score_table
from rooms.score.ratings import agreements, answer_hash, rating_tasks, read_ratings
from rooms.score.reading import ClaimReading
from rooms.score.records import AnswerToScore, ScoredAnswer, Variant
from rooms.score.scored import MEASURES, facts_of, measured, score_rows
from rooms.score.settings import ScoreParams
from simulrag.errors import EnvironmentFault, InputError
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import Measurement
from simulrag.records import Evidence
from tests.making import evidence

SETTINGS = ScoreParams()


def run(rise: float) -> Evidence:
    return evidence(f"Up {rise}.", {"rise": rise}, factor=rise)


def said(value: str) -> tuple[ClaimReading, ...]:
    return (ClaimReading(kind="number", output="rise", run=1, value=value),)


def given(
    method: str = "simulrag", scenario: str = "s", answer: str = "It rises by 7."
) -> AnswerToScore:
    return AnswerToScore(
        question="How much?", answer=answer, evidence=(run(7),), method=method, scenario_id=scenario
    )


async def alike(_: str, texts: Sequence[str]) -> Sequence[float]:
    return [0.5 for _ in texts]


async def nothing(_: str, texts: Sequence[str]) -> Sequence[float]:
    raise EnvironmentFault("no weights here")


async def test_every_value_of_an_answer_that_has_them_all() -> None:
    calls = (run(7).call,)
    one = ScoredAnswer(
        given=given().model_copy(
            update={
                "calls": calls,
                "paraphrased": Variant(answer="By 7.", calls=calls, evidence=(run(7),)),
                "perturbed": Variant(answer="By 9.", evidence=(run(9),)),
            }
        ),
        facts=("Up 7.0.",),
        claims=("It rises by 7.",),
        votes=((("yes", "n/a", "n/a", "no"),),),
        asked_back=("How far?",),
        readings={"answer": said("7"), "paraphrase": said("7"), "perturbation": said("9")},
        verdicts=(("aligned",), ("indeterminate",)),
        forced=((math.log(0.8),), (math.log(0.6),), (math.log(0.5),)),
    )
    found = await measured(one, SETTINGS, alike, alike)
    values = {name: value for name, value in found.values.items() if value is not None}
    assert list(found.values) == [name for name in MEASURES if name in found.values]
    assert values == pytest.approx(
        {
            "specificity": 0.6 / 0.7,
            "specificity_scenario": 1.0,
            "specificity_magnitude": 0.0,
            "relevance": 0.5,
            "same_calls": 1.0,
            "same_claims": 1.0,
            "paraphrase_similarity": 0.5,
            "moved": 1.0,
            "perturbation_similarity": 0.5,
            "context_use": 0.2,
            "context_use_relative": 0.25,
            "evidence_gain": 0.3,
            "evidence_used": 1.0,
            "evidence_dependence": 1.0,
            "reading_ease": values["reading_ease"],
            "grade_level": values["grade_level"],
        }
    )
    assert found.reasons["specificity_place"] == "no claim states it"
    assert found.failures == []


@pytest.mark.parametrize(
    ("update", "scorer", "measure", "reason"),
    [
        ({"reasons": {"judge 1": "down"}, "votes": ((None,),)}, alike, "specificity", "down"),
        ({"reasons": {"asking back": "down"}}, alike, "relevance", "down"),
        ({"reasons": {"forcing": "none told"}}, alike, "context_use", "none told"),
        (
            {"reasons": {"reading answer": "down"}, "readings": {"paraphrase": said("7")}},
            alike,
            "same_claims",
            "down",
        ),
        (
            {"reasons": {"reading answer": "down"}, "readings": {"perturbation": said("9")}},
            alike,
            "moved",
            "down",
        ),
        ({"facts": ("Up.",)}, alike, "evidence_used", "no sentence of the evidence has a number"),
    ],
)
async def test_a_failure_is_no_value(
    update: dict[str, object], scorer: object, measure: str, reason: str
) -> None:
    variants = {"paraphrased": Variant(answer="a"), "perturbed": Variant(answer="b")}
    one = ScoredAnswer(
        given=given().model_copy(update=variants), claims=("It rises by 7.",), facts=("Up 7.",)
    )
    found = await measured(one.model_copy(update=update), SETTINGS, scorer, alike)  # type: ignore[arg-type]
    assert found.values[measure] is None
    assert found.reasons[measure] == reason


async def test_without_weights_or_answer_and_what_was_not_asked_for() -> None:
    found = await measured(
        ScoredAnswer(given=given(), asked_back=("Q?",)), SETTINGS, nothing, nothing
    )
    assert found.failures == ["no weights here"]
    assert found.reasons["relevance"] == found.reasons["detrimental"] == "no weights here"
    assert not {"moved", "context_use", "evidence_dependence"} & found.values.keys()
    empty = ScoredAnswer(given=given(), reasons={"answer": "it is empty"})
    assert set((await measured(empty, SETTINGS, alike, alike)).values.values()) == {None}
    assert facts_of([run(7), "One. Two."]) == ["Up 7.", "One.", "Two."]


def test_rows_are_means_by_method_with_coverage_and_intervals_by_scenario() -> None:
    def one(method: str, scenario: str, value: float | None) -> ScoredAnswer:
        why = {} if value is not None else {"relevance": "down"}
        return ScoredAnswer(given=given(method, scenario), values={"relevance": value}, reasons=why)

    found = [one("closed_book", "a", 0.2), one("mine", "a", 0.1)]
    simulrag = dict(zip("abcdef", (0.4, 0.8, 0.4, 0.8, 0.6, None), strict=True))
    found += [one("simulrag", scenario, value) for scenario, value in simulrag.items()]
    rows = list(score_rows(found, MetricSettings(bootstrap=200), "urban"))
    assert [(row.method, row.n, row.coverage) for row in rows] == [
        ("simulrag", 5, pytest.approx(5 / 6)),
        ("closed_book", 1, 1.0),
        ("mine", 1, 1.0),
        ("simulrag", 1, 1.0),
        ("mine", 1, 1.0),
    ]
    more = [(row.baseline, row.value) for row in rows[3:]]
    assert more == [("closed_book", pytest.approx(0.2)), ("closed_book", pytest.approx(-0.1))]
    assert rows[0].value == pytest.approx(0.6)
    assert rows[0].lower_95 is not None
    assert 0.4 <= rows[0].lower_95 < 0.6
    few = next(score_rows(found[:6], MetricSettings(bootstrap=200), "urban"))
    assert (few.n, few.lower_95, few.reason) == (4, None, "no interval: fewer than 5 answers")
    (none,) = score_rows([one("m", "a", None)], MetricSettings(bootstrap=200), "urban")
    assert (none.value, none.reason) == (None, "down")


def test_a_recipe_is_held_against_rag_question_by_question_and_that_is_said_first() -> None:
    def one(method: str, scenario: str, value: float, answer: str = "The same.") -> ScoredAnswer:
        return ScoredAnswer(given=given(method, scenario, answer), values={"same_claims": value})

    found = [one("rag_looks", scenario, 0.5) for scenario in "abcde"]
    found += [one("grounded", scenario, 0.5) for scenario in "abcd"]
    found.append(one("grounded", "e", 0.7, "Mended."))
    settings = MetricSettings(bootstrap=200)
    rows = list(score_rows(found, settings, "urban"))
    compared = {row.metric: row for row in rows if row.baseline == "rag_looks"}
    less = compared["same_claims"]
    assert (less.method, less.n, less.value) == ("grounded", 5, pytest.approx(0.04))
    assert (compared["same_text"].value, compared["same_text"].n) == (0.8, 5)
    told, table = against_rag({"urban": rows})
    assert isinstance(told, Text)
    assert told.text == (
        "SimulRAG grounded less RAG by looks: "
        "no difference beyond its interval, of 1 that have one."
    )
    assert isinstance(table, Table)
    assert table.rows[0] == ("Texts that are one", "80.0 %")
    assert table.rows[1][:1] == ("Same claims, reworded",)
    found = [one("rag_looks", scenario, 0.1) for scenario in "abcde"]
    found += [one("grounded", scenario, 0.4) for scenario in "abcde"]
    told, _ = against_rag({"urban": list(score_rows(found, settings, "urban"))})
    assert isinstance(told, Text)
    assert "Same claims, reworded (urban) +0.300 [+0.300, +0.300]" in told.text


async def test_nothing_is_asked_back_where_relevance_is_not_measured() -> None:
    settings = SETTINGS.model_copy(update={"asked_back": 0})
    one = ScoredAnswer(given=given(), claims=("It rises by 7.",), facts=("Up 7.0.",))
    found = await measured(one, settings, alike, alike)
    assert not {"relevance", "relevance_unmasked"} & found.values.keys()
    assert "detrimental" in found.values


def export(given: AnswerToScore, *ratings: tuple[int, str, int]) -> list[object]:
    (task,) = rating_tasks([given])
    results = [
        [
            *(
                {"from_name": d, "value": {"choices": [mark]}}
                for d in ("scenario", "place", "time")
            ),
            {"from_name": "magnitude", "value": {"choices": ["n/a"]}},
            *(
                {"from_name": s, "value": {"number": scale}}
                for s in ("relevance", "context_use", "confidence")
            ),
        ]
        for _, mark, scale in ratings
    ]
    annotations = [
        {"id": i, "completed_by": who, "result": result}
        for i, ((who, _, _), result) in enumerate(zip(ratings, results, strict=True))
    ]
    return [{**task, "annotations": annotations}]


def test_ratings_come_back_and_are_held_against_scores() -> None:
    answers = [given(answer=f"Answer {i}.") for i in range(4)]
    marks = ("yes", "no", "yes", "no")
    tasks = [
        task
        for i, (one, mark) in enumerate(zip(answers, marks, strict=True))
        for task in export(one, (1, mark, i + 1), (2, mark, i + 2))
    ]
    ratings = read_ratings(json.dumps(tasks).encode(), "e.json")
    scored = [
        ScoredAnswer(given=one, values={"relevance": i / 10}) for i, one in enumerate(answers)
    ]
    found = {(row.what, row.between): row for row in agreements(ratings, scored)}
    assert found["scenario", "people (kappa)"].value == pytest.approx(1.0)
    assert found["magnitude", "people (kappa)"].value is None
    assert found["relevance", "people (rho)"].value == pytest.approx(1.0)
    against = found["relevance", "people and relevance (rho)"]
    assert against.value == pytest.approx(1.0)
    assert against.n == 4
    assert found["context_use", "people and context_use (rho)"].n == 0
    assert ratings[0].answer_hash == answer_hash(answers[0])
    with pytest.raises(InputError, match="rated it twice"):
        list(agreements([*ratings, ratings[0]], scored))
    with pytest.raises(InputError, match="not scored"):
        list(agreements(ratings, scored[:1]))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "no JSON export"),
        (b'[{"data": {}}]', "annotations"),
        (json.dumps(export(given(), (1, "maybe", 3))).encode(), "scenario"),
        (json.dumps(export(given(), (1, "yes", 11))).encode(), "relevance"),
    ],
)
def test_a_bad_export_is_named(content: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_ratings(content, "e.json")


def test_a_table_says_on_how_many_answers_a_measure_rests_and_once_what_is_lacking() -> None:
    place = Measurement(family="score", domain="urban", method="closed_book", samples=5)
    lacking = replace(place, n=0, coverage=0.0, reason="no weights")
    rows = [
        replace(place, metric="moved", value=0.5, n=2, coverage=1.0),
        replace(place, metric="moved", method="simulrag", n=0, coverage=0.0, reason="no variant"),
        replace(place, metric="moved", method="simulrag", baseline="closed_book", value=0.25),
        replace(lacking, metric="relevance"),
        replace(lacking, metric="detrimental"),
    ]
    table = score_table("urban", rows)
    assert table.columns[3] == "Difference"
    assert ("Moved as simulated", "0.500", "—", "+0.250", "2, 0", "100.0 %, 0.0 %") in table.rows
    assert table.notes == (
        "Relevance; Sentences that take from the fit: no weights.",
        "Relevance, nothing masked: no question is asked back (score.asked_back).",
        "Same tool calls, reworded; Same claims, reworded; Similarity, reworded; "
        "Similarity, other scenario: no question was varied (score.variants).",
        "Moved as simulated: no variant.",
        "Context use; Context use, relative; Gain of all evidence: "
        "no model that gives probabilities of words is named (score.confidence).",
        "Evidence dependence: verdicts without each piece of evidence are off (score.dependence).",
    )
