"""The benchmark's size: means, what is missing, and the published numbers."""

from __future__ import annotations

from simulrag.metrics.families.benchmark import benchmark
from simulrag.metrics.table import Measurement
from simulrag.records import Question, ReferenceClaim, ToolCall
from tests.making import question
from tests.unit.metrics.measuring import data_of


def statistics(*questions: Question) -> dict[str, Measurement]:
    return {row.metric: row for row in benchmark(data_of([], questions=questions))}


def made(name: str, words: int, kinds: str, **arguments: float | None) -> Question:
    claims = tuple(
        ReferenceClaim(text=f"C{n}.", kind="quantitative" if kind == "n" else "qualitative")
        for n, kind in enumerate(kinds)
    )
    calls = (ToolCall(tool="t", arguments=arguments),) if arguments else ()
    return question(name, f"s-{name}").model_copy(
        update={
            "reference_answer": " ".join(["word"] * words),
            "reference_claims": claims,
            "calls": calls,
        }
    )


def test_means_over_the_questions_that_have_them() -> None:
    questions = [made("a", 10, "nnq", x=1, y=2, seed=None), made("b", 20, "q"), made("c", 30, "")]
    rows = statistics(*questions)
    assert {name: (row.value, row.n) for name, row in rows.items()} == {
        "answer_words": (20, 3),
        "claims": (2, 2),
        "quantitative_claims": (1, 2),
        "qualitative_claims": (1, 2),
        "tool_parameters": (2, 1),
    }
    beyond = made("d", 5, "nq")
    more = ReferenceClaim(text="It rains.", kind="qualitative", source="open")
    beyond = beyond.model_copy(update={"reference_claims": (*beyond.reference_claims, more)})
    found = statistics(questions[0], beyond)
    # What no evidence backs is a column of its own.
    assert (found["open_claims"].value, found["qualitative_claims"].value) == (0.5, 1)
    words = rows["answer_words"]
    assert words.lower_95 is not None
    assert words.upper_95 is not None
    assert 10 <= words.lower_95 < 20 < words.upper_95 <= 30
    bare = statistics(made("c", 3, ""))
    assert bare["claims"].reason == "undefined: the benchmark has no reference claims"
    assert bare["tool_parameters"].value is None
