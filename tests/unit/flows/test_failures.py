"""What ``retry`` makes again."""

from __future__ import annotations

import pytest

from flows.stages.answer import holds_failure
from simulrag.records import Answer, AnswerVariant, FinalText
from tests.making import answer, claim, failed

RAG = AnswerVariant(method="input_rag", samples=1)


@pytest.mark.parametrize(
    ("record", "again"),
    [
        (answer("q", [claim()]), False),
        (failed("q"), True),
        (answer("q", [claim(status="error")]), True),
        (answer("q", [], baselines=(FinalText(line=RAG),)), False),
        (answer("q", [], baselines=(FinalText(line=RAG, failure="cut"),)), True),
    ],
)
def test_holds_failure(record: Answer, again: bool) -> None:
    assert holds_failure(record) == again
