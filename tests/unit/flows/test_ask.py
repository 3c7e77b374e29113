"""How ``simulrag ask`` shows an answer."""

from __future__ import annotations

from typing import Literal

import pytest

from flows.asking import answer_by
from flows.cli.ask import answer_json, show_answer
from simulrag.records import (
    Answer,
    AnswerVariant,
    Claim,
    Failure,
    FinalText,
    MissingPoint,
    Verdict,
)
from simulrag.shown import as_html
from tests.unit.report.made import every_standing, grounded_answer

LINE = AnswerVariant(method="simulrag", samples=2, budget_percent=100)


def test_a_corrected_claim_is_shown_with_what_it_was(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    scores = {"closeness": 0.1}
    wrong = Verdict(status="contradicted", updated_claim="It falls by 3 %.")
    claims = (
        Claim(text="It falls by 9 %.", confidence=scores, boundary=True, verdict=wrong),
        Claim(text="It is quieter.", confidence=scores, boundary=False),
    )
    final = FinalText(line=LINE, text="So.", selected=(0,), kept=(0, 1))
    answer = Answer(question_id="ask", domain="urban", claims=claims, final=final)
    show_answer("How much?", answer, "recorded answer", "closeness")
    lines = capsys.readouterr().out.splitlines()
    (row,) = (i for i, line in enumerate(lines) if "It falls by 3 %." in line)
    assert "contradicted" in lines[row]
    assert "was: It falls by 9 %." in lines[row + 1]
    assert sum("was:" in line for line in lines) == 1


def test_a_grounded_answer_comes_first_with_its_marks_and_all_in_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    answer = every_standing()
    show_answer("By how much?", answer, "recorded answer", "closeness")
    text, *lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert text == (
        "Mean travel time rises by 12.5 percent ✎1, which is significant ◇. At the peak it is "
        "136 s ✓1,2, up from 121 s. Freight would be hit hardest ?, and residents may complain ∅. "
        "Speed falls to 31 km/h. ⊕2 Cycling may gain ✗1."
    )
    assert lines == [
        "✓ checked by a run · ✎ corrected by a run · ⊕ added from a run · ✗ wrong by a run · "
        "? not run: a further run could decide it · ◇ a judgement: no run decides it · "
        "∅ beyond the simulator; a number: the run",
        "Said as well, in words that are not found in the text:",
        "  1. The effect holds all day.  [✓ checked by run 2]",
        "  2. Noise falls.  [∅ beyond the simulator]",
        "In the text, and not simply checked:",
        "  1. Mean travel time rises by 12.5 percent.  [✎ corrected by run 1 (said: It falls.)]",
        "  2. The change is significant.  [◇ a judgement: no run decides it]",
        "  3. Freight is hit hardest.  [? not run: a further run could decide it]",
        "  4. Residents may complain.  [∅ beyond the simulator]",
        "  5. Speed falls to 31 km/h.  [⊕ added from run 2]",
        "  6. Cycling may gain.  [✗ wrong by run 1: it says It loses.]",
        "By how much?",
        "Recorded answer.",
        "SimulRAG grounded.",
        "Run 1: urban.compare_with_baseline {'speed_factor': 0.8}",
        "It rises by 12.5 %.",
        "Run 2: urban.compare_with_baseline {'speed_factor': 0.8}",
        "Peak: 136 s.",
    ]
    found = answer_json("By how much?", answer)
    assert found["audit"]["text"] == answer.text
    assert found["statements"][0]["before"] == "It falls."


def test_what_a_grounded_answer_lacks_and_what_went_wrong_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    missing = (MissingPoint(text="The queue is 40 vehicles.", runs=(0,)),)
    answer = grounded_answer("It rises.", [], missing=missing)
    assert answer.audit is not None
    audit = answer.audit.model_copy(update={"problems": ("the mended text lost a quote",)})
    show_answer("How?", answer.model_copy(update={"audit": audit}), "answered now", "closeness")
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("The runs say as well:") + 1] == (
        "  1. The queue is 40 vehicles. (run 1)"
    )
    assert "Problem: the mended text lost a quote" in lines
    notebook = as_html(answer.model_copy(update={"audit": audit}), "")
    assert "Problem: the mended text lost a quote" in notebook


def test_an_answer_says_which_steps_it_stands_without(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    failed = (
        Failure(step="second_look", reason="no reply"),
        Failure(step="beside: score", reason="cut off"),
    )
    answer = grounded_answer("It rises.", []).model_copy(update={"failed_steps": failed})
    words = (
        "The answer stands without a step that failed: second look (no reply); "
        "beside: score (cut off)."
    )
    show_answer("How?", answer, "answered now", "closeness")
    assert words in capsys.readouterr().out.splitlines()
    assert answer_json("How?", answer)["failed_steps"] == [one.model_dump() for one in failed]
    assert words in as_html(answer, "")


def test_a_grounded_answer_without_evidence_says_that_nothing_was_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = grounded_answer("Nobody can say.", [], runs=[], verified=False)
    show_answer("How?", answer, "answered now", "closeness")
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert lines == [
        "Nobody can say.",
        "Unverified: no tool applies and nothing was run.",
        "How?",
        "Answered now.",
        "SimulRAG grounded.",
    ]
    assert answer_json("How?", answer)["audit"] is None


def stored() -> Answer:
    """What the default run stores of a question: every method at every budget."""

    def final(method: str, budget: float | None, samples: int = 2, **more: object) -> FinalText:
        line = {"method": method, "budget_percent": budget, "samples": samples}
        text = f"{method} at {budget}, m = {samples}"
        return FinalText.model_validate({"line": line, "text": text, "selected": (0,), **more})

    return Answer(
        question_id="q",
        domain="urban",
        closed_book=("A.", "B."),
        claims=(Claim(text="A."),),
        final=final("grounded", None, samples=1),
        baselines=(
            *(final("simulrag", budget) for budget in (25, 100)),
            final("simulrag", 50, samples=1),
            final("simulrag", 75, text="", failure="no reply"),
        ),
    )


@pytest.mark.parametrize(
    ("method", "budget", "text"),
    [
        (None, None, "grounded at None, m = 1"),
        ("grounded", None, "grounded at None, m = 1"),
        ("paper", None, "simulrag at 100, m = 2"),
        ("paper", 25, "simulrag at 25, m = 2"),
        ("paper", 50, "simulrag at 50, m = 1"),  # of fewer samples where there is no other
        ("paper", 75, None),  # failed
        ("paper", 30, None),
        ("grounded", 25, None),
    ],
)
def test_a_stored_answer_is_that_of_a_method_and_budget(
    method: Literal["paper", "grounded"] | None, budget: float | None, text: str | None
) -> None:
    found = answer_by(stored(), method, budget)
    assert (None if found is None else found.text) == text
