"""How ``simulrag ask`` shows an answer."""

from __future__ import annotations

import pytest

from flows.cli.ask import show
from simulrag.records import Answer, Claim, Verdict


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
