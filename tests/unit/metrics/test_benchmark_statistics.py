"""The benchmark's size: means, what is missing, and the published numbers beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from simulrag.metrics.benchmark_statistics import benchmark_statistics
from simulrag.metrics.tables import evaluate
from simulrag.report.checks import benchmark_view, retrieval_view

from simulrag.errors import InputError
from simulrag.metrics.published import read_published_benchmark
from simulrag.metrics.settings import MetricSettings
from simulrag.records import Question, ReferenceClaim, ToolCall
from tests.unit.metrics.synthetic import question, study

FAST = MetricSettings(bootstrap=100, random_seeds=3)
PUBLISHED = Path(__file__).resolve().parents[3] / "data" / "published"


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
    rows = {row["metric"]: row for row in benchmark_statistics("urban", questions, FAST)}
    assert {name: (row["value"], row["n"]) for name, row in rows.items()} == {
        "answer_words": (20, 3),
        "claims": (2, 2),
        "quantitative_claims": (1, 2),
        "qualitative_claims": (1, 2),
        "tool_parameters": (2, 1),
    }
    words = rows["answer_words"]
    assert isinstance(words["lower_95"], float)
    assert isinstance(words["upper_95"], float)
    assert 10 <= words["lower_95"] < 20 < words["upper_95"] <= 30
    bare = {r["metric"]: r for r in benchmark_statistics("urban", [made("c", 3, "")], FAST)}
    assert bare["claims"]["reason"] == "undefined: the benchmark has no reference claims"
    assert bare["tool_parameters"]["value"] is None


def test_the_published_numbers_stand_beside_ours() -> None:
    data = study(4)
    tables = evaluate(
        *(data.answers, data.labels, data.finals, data.scenario_of, FAST),
        questions=data.questions,
    )
    view = benchmark_view(tables, "urban", read_published_benchmark(PUBLISHED))
    assert view is not None
    assert [row[2] for row in view.rows] == ["112.5", "7.8", "2", "5.8", "6.2"]
    assert view.rows[0][1].startswith("10.000")
    ocean = benchmark_view(tables, "urban", None)
    assert ocean is not None
    assert {row[2] for row in ocean.rows} == {"—"}
    assert benchmark_view(tables, "ocean", None) is None
    assert retrieval_view(tables, "ocean") is None
    shown = retrieval_view(tables, "urban")
    assert shown is not None
    assert any("does not know its questions' tool calls" in note for note in shown.notes)


def test_a_missing_published_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"table2\.csv is missing"):
        read_published_benchmark(tmp_path)
    (tmp_path / "table2.csv").write_text("domain,claims\nurban,3\n")
    with pytest.raises(InputError, match="no column 'answer_words'"):
        read_published_benchmark(tmp_path)
