"""What a sloppy model costs: each so many well-formed replies lack an item of their longest list.

On stand-ins, with everything beside and stated confidence, and labelled; nothing is run again.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.figures import Figure
from benchmarks.stub_runs import IN_FLIGHT, method, question_record, settings
from simulators.registry import load
from simulrag.calls import CallCache
from simulrag.judging.claims import final_claims, label_claims, texts_to_label
from simulrag.method.asking import together
from simulrag.method.recipes import answer_question
from simulrag.method.simulation import Simulations
from simulrag.method.steps import Backends
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers.registry import make_provider
from simulrag.records import Question
from simulrag.stand_in import draw
from simulrag.testing.loopback import LoopbackServer, stand_in
from simulrag.testing.wires import Body, messages, schema_name

QUESTIONS = 15
PERCENT = (0, 10, 30, 50)
CLAIMS_PER_CALL = 20


class Sloppy:
    """Stand-ins of which ``percent`` lack one item of their longest list, by a draw a request.

    ``calls``, of them ``repairs``; ``slips``.
    """

    def __init__(self, percent: float) -> None:
        self.percent = percent
        self.calls = self.repairs = self.slips = 0
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._answer = stand_in()

    def __call__(self, body: Body) -> str:
        asked, text = json.dumps(body, sort_keys=True), self._answer(body)
        with self._lock:
            self._seen[asked] += 1
            seeds = asked, self._seen[asked]
            self.calls += 1
            self.repairs += "cannot be used" in messages(body)[-1]["content"]
            if schema_name(body) is None or draw("slip", *seeds) % 1000 >= 10 * self.percent:
                return text
            reply = json.loads(text)
            longest = max(_lists(reply), key=len, default=[])
            if longest:
                self.slips += 1
                del longest[draw("item", *seeds) % len(longest)]
        return json.dumps(reply)


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
    parts = value.values() if isinstance(value, Mapping) else value
    for part in parts if isinstance(value, list | Mapping) else ():
        yield from _lists(part)


class Came(NamedTuple):
    """How a question came out."""

    answered: bool
    labelled: bool
    with_evidence: bool
    failed_steps: int


def slips() -> Iterator[Figure]:
    """For each share of slips: who came through, and what it took beside a model without any."""
    whole = 0
    for percent in PERCENT:
        model = Sloppy(percent)
        with LoopbackServer(model, log=False) as server, tempfile.TemporaryDirectory() as folder:
            came, kept = asyncio.run(_answered(server.url, Path(folder)))
        whole = whole or model.calls
        name = f"slips_{percent}"
        for what in Came._fields:
            unit = "steps" if what == "failed_steps" else "questions"
            yield f"{name}_{what}", sum(getattr(one, what) for one in came), unit, len(came)
        yield f"{name}_replies_that_slipped", model.slips, "replies", model.calls
        yield f"{name}_replies_completed", kept[False], "replies", kept.total()
        yield f"{name}_repairs", model.repairs, "calls", model.calls
        more = 100 * (model.calls - whole) / whole
        yield f"{name}_more_calls", more, "% of the calls without slips", whole


async def _answered(url: str, folder: Path) -> tuple[list[Came], Counter[bool]]:
    chosen, params = settings(url), method(beside=("paper", "rag"), verbalized=True)
    with CallCache(folder, stage="bench") as cache:
        provider = make_provider(chosen)
        gateway = Gateway(provider, chosen, cache, packaged_prompts(), concurrency=IN_FLIGHT)
        use = Backends(gateway, Simulations(load("urban"), cache))

        async def through(question: Question) -> Came:
            answer = await answer_question(question, use, params)
            known = bool(answer.evidence), len(answer.failed_steps)
            if answer.failure is not None:
                return Came(False, False, *known)
            finals = await final_claims(question, answer, gateway)
            texts = texts_to_label(answer, finals)
            labels = await label_claims(
                question, texts, gateway, "rounding", claims_per_call=CLAIMS_PER_CALL
            )
            failed = [one.failure for one in finals] + [one.failure for one in labels]
            return Came(True, not any(failed), *known)

        came = await together(through(question_record(n)) for n in range(QUESTIONS))
        await gateway.close()
    return came, gateway.batches
