"""Templates of a single run, in the form of ``replies.Template``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def single_run(
    name: str,
    tool: str,
    situation: str,
    *,
    placeholders: Sequence[dict[str, Any]],
    fixed: Mapping[str, bool | int | float | str],
    asks: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """A template whose one run takes every placeholder and the fixed arguments."""
    return {
        "template_id": name,
        "situation": situation,
        "placeholders": list(placeholders),
        "choices": [],
        "runs": [
            {
                "tool": tool,
                "words": "the situation",
                "uses": [item["name"] for item in placeholders],
                "fixed": [{"argument": key, "value": value} for key, value in fixed.items()],
            }
        ],
        "asks": list(asks),
    }


def asked(
    output: str, words: str, classes: Sequence[tuple[str, float]], better: str
) -> dict[str, Any]:
    """An ask about a number of the one run."""
    return {
        "run": 1,
        "against": 0,
        "output": output,
        "scale": "value",
        "words": words,
        "classes": [{"name": name, "from_magnitude": limit} for name, limit in classes],
        "answers": [],
        "better": better,
    }
