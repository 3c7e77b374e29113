"""How ``simulrag ask`` shows an answer."""

from __future__ import annotations

import pytest

from flows.cli.answers import answer_json, show
from simulrag.records import Answer, Claim, Facet, Statement, Subject, Verdict


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
    answer = Answer(
        question_id="ask", domain="urban", claims=claims, selected=(0,), kept=(0, 1), final="So."
    )
    show("How much?", answer, "recorded answer", "closeness")
    lines = capsys.readouterr().out.splitlines()
    (row,) = (i for i, line in enumerate(lines) if "It falls by 3 %." in line)
    assert "contradicted" in lines[row]
    assert "was: It falls by 9 %." in lines[row + 1]
    assert sum("was:" in line for line in lines) == 1


def test_subjects_are_shown_with_their_voice_and_what_was_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    mended = Verdict(status="contradicted", updated_claim="The peak is 392.")
    claims = (
        Claim(text="The peak is 500.", confidence={"votes": 0.6}, boundary=True, verdict=mended),
        Claim(text="The peak is 900.", confidence={"votes": 0.4}, boundary=True),
        Claim(text="Beds suffice.", confidence={"votes": 1.0}, boundary=False),
    )
    answer = Answer(
        question_id="ask",
        domain="urban",
        method="reconciled_complete",
        claims=claims,
        subjects=(
            Subject(
                about="the peak", facets=(Facet(kind="number", exclusive=True, claims=(0, 1)),)
            ),
            Subject(
                about="the beds", facets=(Facet(kind="judgement", exclusive=True, claims=(2,)),)
            ),
        ),
        selected=(0,),
        statements=(
            Statement(text="The peak is 392.", standing="corrected", claim=0, subject=0),
            Statement(text="It comes in week 9.", standing="simulated"),
        ),
        final="So.",
        verified=True,
    )
    show("How many?", answer, "answered now", "closeness")
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    start = lines.index("the peak (1 of 2 claims sent to the simulator's evidence)")
    assert lines[start + 1 : start + 4] == [
        "= The peak is 392.  [corrected]",
        "said: The peak is 500.  60% of the votes",
        "said: The peak is 900.  40% of the votes",
    ]
    start = lines.index("the beds (0 of 1 claims sent to the simulator's evidence)")
    assert lines[start + 1] == "nothing of it stands in the answer"
    assert lines[lines.index("What the evidence says and no answer claimed") + 1] == (
        "= It comes in week 9.  [from the simulator]"
    )
    found = answer_json("How many?", answer)
    assert found["statements"][0]["standing"] == "corrected"
    assert [subject["about"] for subject in found["subjects"]] == ["the peak", "the beds"]
