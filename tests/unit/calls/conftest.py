"""A call that counts how often it is really made."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from simulrag.calls import CallResult


class Paid:
    """A call that takes ``seconds`` and answers with its own number."""

    def __init__(self, seconds: float = 0.0, error: Exception | None = None) -> None:
        self.made = 0
        self.seconds = seconds
        self.error = error

    async def __call__(self) -> CallResult:
        self.made += 1
        answer = CallResult({"text": f"answer {self.made}"}, {"input_tokens": 3}, "rules-1")
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        return answer


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where a cache may lie: Redis keeps the same contract, see integration/test_call_stores."""
    return tmp_path / "cache"
