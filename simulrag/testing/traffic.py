"""Replies in the shape of real traffic: about 34 claims a question from five answers of nine.

Stub replies, not answers: they follow each task's schema and fit one another (claims of one
question recur in its other answers, some are out of the simulator's reach, some are wrong), so
that the whole method runs on them at a real model's volume and costs no thought.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from simulrag.models.base import Message
from simulrag.testing.sections import bullets, numbered, section
from simulrag.testing.wires import Body, messages, schema_name

CLAIMS_AN_ANSWER = 9
RECUR = (0, 3, 3, 3, 2)
"""Claims that the j-th answer shares with the first: 9 + 6 + 6 + 6 + 7 = 34 distinct ones."""
INSIDE = (
    "average vehicle travel time",
    "average vehicle idling time",
    "total fuel consumption",
    "total CO2 emissions",
    "total NOx emissions",
    "average distance travelled",
)
OUTSIDE = ("noise along the corridor", "turnover of nearby shops", "acceptance by residents")
SUBJECTS = (*INSIDE, *OUTSIDE)
_SCHEME = re.compile(r"scheme (\d+)")
_PERCENT = re.compile(r"\d+\.\d\d percent")


def question(number: int) -> str:
    """A question of the benchmark's usual length; the number makes it another one."""
    cut = 5 + number % 30
    return (
        f"In scheme {number}, speed limits along the main corridor drop by {cut} percent, and the "
        "central signal is replaced by a priority junction that gives the corridor a green wave. "
        "What is the percentage change in average vehicle idling time, and is it minor (under "
        "25%), moderate (25 to 75%) or significant (over 75%)? What do you expect for the "
        "percentage change in total CO2 emissions, and would it count as minor (under 10%), "
        "moderate (10 to 30%) or significant (over 30%)? Considering all of this, does the "
        "situation improve overall, and for whom?"
    )


def traffic() -> Callable[[Body], str]:
    """An answerer for the loopback server. Answers differ by the request's seed (send seed 0)."""

    def answer(body: Body) -> str:
        said = [Message.model_validate(message) for message in messages(body)]
        name = schema_name(body)
        if name is None:
            return _prose(said, body.get("seed") or 0)
        return json.dumps(_REPLIES[name](said))

    return answer


def _part(said: list[Message], tag: str) -> str:
    text = section(said, tag)
    if text is None:
        raise LookupError(f"the prompt has no <{tag}> part")
    return text


def _prose(said: list[Message], sample: int) -> str:
    if section(said, "claims") is not None:
        return " ".join(bullets(_part(said, "claims")))
    match = _SCHEME.search(_part(said, "question"))
    scheme = int(match[1]) if match else 0
    own = CLAIMS_AN_ANSWER - RECUR[sample % len(RECUR)]
    claims = [_claim(scheme, k, sample) for k in range(own)]
    claims += [_claim(scheme, (sample + 3 * k) % CLAIMS_AN_ANSWER, 0) for k in range(9 - own)]
    return " ".join(claims)


def _claim(scheme: int, subject: int, sample: int) -> str:
    # 37 and 6,000 share no divisor, so no two schemes below 6,000 make the same claim.
    percent = (37 * scheme + 700 * subject + 300 * sample) % 6000 / 100
    return f"The {SUBJECTS[subject]} changes by about {percent:.2f} percent."


def _decomposition(said: list[Message]) -> Any:
    sentences = re.split(r"(?<=\.) ", _part(said, "answer"))
    return {"claims": [{"claim": sentence} for sentence in sentences]}


def _pairs(said: list[Message]) -> Any:
    existing, new = numbered(_part(said, "existing")), numbered(_part(said, "new"))
    place = {text: i for i, text in enumerate(existing)}
    return {"pairs": [[place[text], j] for j, text in enumerate(new) if text in place]}


def _entailment(said: list[Message]) -> Any:
    answer = _part(said, "answer")
    return {"supported": [text in answer for text in numbered(_part(said, "claims"))]}


def _inside(claim: str) -> Any:
    return {"tool_confidence": int(any(subject in claim for subject in INSIDE))}


def _verdict(claim: str) -> Any:
    kind = crc32(claim.encode()) % 3
    updated = _PERCENT.sub("33.33 percent", claim) if kind == 0 else ""
    return {"is_included": kind < 2, "should_update": bool(updated), "updated_claim": updated}


def _each(said: list[Message], judge: Callable[[str], Any]) -> Any:
    claims = numbered(_part(said, "claims"))
    return {"claims": [{"index": i, **judge(claim)} for i, claim in enumerate(claims)]}


_CALL = {"tool": "compare_with_baseline", "arguments": {"speed_factor": 0.8}}
_REPLIES: Mapping[str, Callable[[list[Message]], Any]] = {
    "ToolCalls": lambda said: {"calls": [_CALL]},
    "Decomposition": _decomposition,
    "ClaimPairs": _pairs,
    "Entailment": _entailment,
    "Boundary": lambda said: _inside(_part(said, "claim")),
    "BoundaryBatch": lambda said: _each(said, _inside),
    "Verification": lambda said: _verdict(_part(said, "claim")),
    "VerificationBatch": lambda said: _each(said, _verdict),
    "Verbalized": lambda said: {"probability": crc32(_part(said, "claim").encode()) % 101 / 100},
}
