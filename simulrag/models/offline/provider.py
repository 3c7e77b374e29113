"""The provider ``offline``: a rule-based language backend, deterministic and without weights.

It sees what any model sees, the rendered messages and the reply's JSON schema, and nothing else:
no simulator, no file, no label. The task is recognised by the schema's title and the tagged parts
of the prompt.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from pydantic import JsonValue

from simulrag.errors import ModelError
from simulrag.models.base import Message, ProviderReply, Sampling
from simulrag.models.offline import claims, closed_book, generation, synthesis
from simulrag.models.offline.boundary import in_boundary
from simulrag.models.offline.grounding import grounded
from simulrag.models.offline.judging import judge, tolerance
from simulrag.models.offline.sections import bullets, numbered, section
from simulrag.models.offline.tool_calls import tool_calls
from simulrag.models.offline.verification import verify
from simulrag.records import Usage

MODEL_VERSION = "offline-rules-1"
_RULES = Path(__file__).parent
_LIMIT = re.compile(r"\bat most (\d+)\b", re.I)
_COUNT = re.compile(r"\bReturn (\d+)\b", re.I)


class OfflineProvider:
    """Implements ``simulrag.models.base.Provider``.

    ``calls`` counts the calls made to this object. With ``call_log`` every call also appends one
    JSON line (title, sample index) to that file, so that calls of other processes can be counted.

    ``identity`` stands in a call's key in place of the model's name: other rules are another model,
    and what the former ones replied must not pass for theirs.
    """

    name = "offline"

    def __init__(self, call_log: Path | None = None) -> None:
        self.calls = 0
        self.identity = f"{MODEL_VERSION}+{rules_hash()[:12]}"
        self._call_log = call_log

    async def call(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,
        sample_index: int,
    ) -> ProviderReply:
        """The reply to one prompt; ModelError where the prompt is none that the rules know."""
        self.calls += 1
        title = None if schema is None else str(schema.get("title", ""))
        if self._call_log is not None:
            line = json.dumps({"title": title, "sample_index": sample_index}, sort_keys=True)
            with self._call_log.open("a", encoding="utf-8") as handle:
                handle.write(line + "\n")
        text = reply(messages, title, _random(messages, sampling, sample_index))
        usage = Usage(
            calls=1,
            input_tokens=sum(estimated_tokens(message.content) for message in messages),
            output_tokens=estimated_tokens(text),
        )
        return ProviderReply(text=text, usage=usage, model_version=MODEL_VERSION)

    async def close(self) -> None:
        """Nothing is held open."""


@lru_cache(maxsize=1)
def rules_hash() -> str:
    """The sha256 of the code that decides a reply: these rules and how they read statements."""
    digest = hashlib.sha256()
    for folder in (_RULES, _RULES.parents[1] / "statements"):
        for path in sorted(folder.glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def estimated_tokens(text: str) -> int:
    """An estimate, since nothing is tokenised here: four thirds of the words, rounded."""
    return round(len(text.split()) * 4 / 3)


def reply(messages: Sequence[Message], title: str | None, random_source: random.Random) -> str:
    """The text of a reply: JSON where a schema was given, prose else."""
    prompt = Prompt(messages, random_source)
    if title is None:
        return _prose(prompt)
    task = _TASKS.get(title)
    if task is None:
        raise ModelError(
            f"the offline model knows no reply named '{title}'; it knows {', '.join(_TASKS)}",
            kind="refused",
        )
    return json.dumps(task(prompt), ensure_ascii=False)


class Prompt:
    """The parts of a prompt that the tasks ask for."""

    def __init__(self, messages: Sequence[Message], random_source: random.Random) -> None:
        self.messages = messages
        self.random = random_source

    def part(self, tag: str) -> str:
        """A part that the task cannot do without."""
        text = section(self.messages, tag)
        if text is None:
            raise ModelError(
                f"the offline model finds no <{tag}> part in the prompt, each tag on a line of "
                "its own; keep the tags of prompts/*.md.j2",
                kind="refused",
            )
        return text

    def has(self, tag: str) -> bool:
        """Whether the prompt has the part."""
        return section(self.messages, tag) is not None

    def number(self, pattern: re.Pattern[str]) -> int | None:
        """A number of the instructions that stand outside the tagged parts."""
        instructions = re.sub(
            r"^<(\w+)>\n.*?^</\1>", "", self.messages[-1].content, flags=re.M | re.S
        )
        match = pattern.search(instructions)
        return int(match[1]) if match else None

    def instructions(self) -> str:
        """The first message: the task's rules."""
        return self.messages[0].content


Answer = dict[str, JsonValue]


def _calls(prompt: Prompt) -> Answer:
    problems = section(prompt.messages, "problems")
    found = tool_calls(
        prompt.part("question"), prompt.part("handbook"), bullets(problems) if problems else []
    )
    return {"calls": list(found)}


def _decomposition(prompt: Prompt) -> Answer:
    limit = prompt.number(_LIMIT)
    found = claims.decompose(prompt.part("question"), prompt.part("answer"), limit)
    return {"claims": [{"claim": text} for text in found]}


def _pairs(prompt: Prompt) -> Answer:
    found = claims.merge(numbered(prompt.part("existing")), numbered(prompt.part("new")))
    return {"pairs": [list(pair) for pair in found]}


def _entailment(prompt: Prompt) -> Answer:
    found = claims.entail(prompt.part("answer"), numbered(prompt.part("claims")))
    return {"supported": list(found)}


def _verbalized(prompt: Prompt) -> Answer:
    value = claims.verbalized(prompt.part("question"), prompt.part("claim"), prompt.random)
    return {"probability": value}


def _boundary(prompt: Prompt) -> Answer:
    inside = in_boundary(prompt.part("handbook"), prompt.part("question"), prompt.part("claim"))
    return {"tool_confidence": int(inside)}


def _verification(prompt: Prompt) -> Answer:
    return verify(prompt.part("question"), prompt.part("evidence"), prompt.part("claim"))


def _boundary_batch(prompt: Prompt) -> Answer:
    handbook, question = prompt.part("handbook"), prompt.part("question")
    return {
        "claims": [
            {"index": index, "tool_confidence": int(in_boundary(handbook, question, claim))}
            for index, claim in enumerate(numbered(prompt.part("claims")))
        ]
    }


def _verification_batch(prompt: Prompt) -> Answer:
    question, evidence = prompt.part("question"), prompt.part("evidence")
    return {
        "claims": [
            {"index": index, **verify(question, evidence, claim)}
            for index, claim in enumerate(numbered(prompt.part("claims")))
        ]
    }


def _judgement(prompt: Prompt) -> Answer:
    return judge(
        prompt.part("question"),
        prompt.part("reference"),
        prompt.part("claim"),
        tolerance(prompt.instructions()),
    )


def _templates(prompt: Prompt) -> Answer:
    found = generation.templates(prompt.part("handbook"), prompt.number(_COUNT) or 1)
    if not found:
        raise ModelError(
            "the offline model finds no question to ask in this handbook: no tool of it has an "
            "argument that is a number in a range and an output that is a number",
            kind="refused",
        )
    return {"templates": [dict(item) for item in found]}


def _benchmark_question(prompt: Prompt) -> Answer:
    situation, asks, evidence = map(prompt.part, ("situation", "asks", "evidence"))
    try:
        return dict(generation.benchmark_question(situation, asks, evidence))
    except ValueError as error:
        raise ModelError(f"the offline model cannot write this question: {error}") from None


def _reference_claims(prompt: Prompt) -> Answer:
    found = generation.reference_claims(prompt.part("question"), prompt.part("reference"))
    return {"claims": [dict(item) for item in found]}


_TASKS: Mapping[str, Callable[[Prompt], Answer]] = {
    "ToolCalls": _calls,
    "Decomposition": _decomposition,
    "ClaimPairs": _pairs,
    "Entailment": _entailment,
    "Verbalized": _verbalized,
    "Boundary": _boundary,
    "Verification": _verification,
    "BoundaryBatch": _boundary_batch,
    "VerificationBatch": _verification_batch,
    "Judgement": _judgement,
    "Templates": _templates,
    "BenchmarkQuestion": _benchmark_question,
    "ReferenceClaims": _reference_claims,
}


def _prose(prompt: Prompt) -> str:
    question = prompt.part("question")
    if prompt.has("claims"):
        return synthesis.final(question, bullets(prompt.part("claims")))
    if prompt.has("evidence"):
        # Without an answer to revise, its own closed-book one is what the evidence corrects.
        drafted = (
            prompt.part("answer")
            if prompt.has("answer")
            else closed_book.closed_book(question, prompt.random)
        )
        return grounded(question, prompt.part("evidence"), drafted)
    if prompt.has("answer"):
        raise ModelError(
            "the offline model revises an answer by evidence alone, and this prompt has none; "
            "use another provider for it",
            kind="refused",
        )
    return closed_book.closed_book(question, prompt.random)


def _random(messages: Sequence[Message], sampling: Sampling, sample_index: int) -> random.Random:
    """Samples differ by temperature and sample index, and by nothing that a rerun changes."""
    content = [[message.role, message.content] for message in messages]
    key = json.dumps([content, sampling.temperature, sample_index], ensure_ascii=False)
    return random.Random(hashlib.sha256(key.encode()).digest())  # noqa: S311 no secret
