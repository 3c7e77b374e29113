"""Calls, input tokens and the longest chain of calls that one question needs.

On stand-ins: m = 5, a budget of 25 %, the urban handbook.
Tokens are o200k_base's (the package bpe-openai), of the messages; reply schemas are counted apart.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.stub_runs import PER_CLAIM, answer, method
from simulators.registry import load
from simulrag.method.settings import MethodSettings
from simulrag.models.base import Message
from simulrag.testing.loopback import LoopbackServer, stand_in

DOMAINS = ("urban", "climate", "epidemiology")
QUESTIONS = 20
LATENCY_S = 0.15
"""For one question: long beside the time in which calls that wait for nobody set out."""

VARIANTS: Mapping[str, MethodSettings] = {
    "": method(),
    "_paper": method(method="paper", verify="selected"),
    "_paper_verify_all": method(method="paper", verify="all"),
    "_paper_per_claim": method(method="paper", verify="selected", claims_per_call=PER_CLAIM),
}


def calls() -> Iterator[Figure]:
    """For each way of running the method."""
    from bpe_openai import get_encoding

    encoding = get_encoding("o200k_base")

    def tokens(texts: Iterable[str]) -> int:
        return sum(len(encoding.encode(text)) for text in texts)

    for suffix, params in VARIANTS.items():
        with (
            LoopbackServer(stand_in(), log=False) as server,
            tempfile.TemporaryDirectory() as folder,
        ):
            answers, watch = asyncio.run(
                answer(QUESTIONS, server.url, Path(folder), params, watched=True)
            )
        assert watch is not None
        n = len(answers)
        sent = tokens(message.content for messages, _ in watch.sent for message in messages)
        schemas = tokens(json.dumps(schema) for _, schema in watch.sent if schema is not None)
        claims = sum(len(a.claims or (a.audit.claims if a.audit else ())) for a in answers)
        yield f"claims_per_question{suffix}", claims / n, "claims", n
        yield f"calls_per_question{suffix}", len(watch.sent) / n, "calls", n
        yield f"input_tokens_per_question{suffix}", sent / n, "o200k tokens", n
        yield f"schema_tokens_per_question{suffix}", schemas / n, "o200k tokens", n
        if not suffix:
            yield from _with_handbooks(watch.sent, sent / n, tokens)
        with (
            LoopbackServer(stand_in(), latency_s=LATENCY_S, log=False) as server,
            tempfile.TemporaryDirectory() as folder,
        ):
            _, watch = asyncio.run(answer(1, server.url, Path(folder), params, watched=True))
        assert watch is not None
        yield f"longest_chain{suffix}", longest_chain(watch.spans), "calls in a row", 1


def _with_handbooks(
    sent: Sequence[tuple[Sequence[Message], object]],
    per_question: float,
    tokens: Callable[[Iterable[str]], int],
) -> Iterator[Figure]:
    """The same with each domain's handbook where the urban one was sent."""
    prompts = ["".join(message.content for message in messages) for messages, _ in sent]
    urban = load("urban").handbook()
    times = sum(urban in prompt for prompt in prompts) / QUESTIONS
    for domain in DOMAINS:
        handbook = load(domain).handbook()
        more = times * (tokens([handbook]) - tokens([urban]))
        yield f"handbook_tokens_{domain}", tokens([handbook]), "o200k tokens", 1
        yield f"input_tokens_per_question_{domain}", per_question + more, "o200k tokens", QUESTIONS


def longest_chain(spans: Sequence[tuple[float, float]]) -> int:
    """The most spans of which none begins before the one before it has ended."""
    length, free_at = 0, float("-inf")
    for began, ended in sorted(spans, key=lambda span: span[1]):
        if began >= free_at:
            length, free_at = length + 1, ended
    return length
