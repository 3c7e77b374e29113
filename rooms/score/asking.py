"""Everything that is asked of models about one answer. Each question fails by itself."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rooms.score.reading import read_claims, readable_runs
from rooms.score.records import AnswerToScore, DetailMark, ScoredAnswer, Variant, Votes
from rooms.score.settings import ScoreParams
from simulators.base import Tool
from simulators.json_schema import Described, described
from simulrag.errors import ModelError
from simulrag.method.asking import ask_in_batches, together
from simulrag.method.claims import decompose_final
from simulrag.method.verification import verify_claims
from simulrag.models.base import Asker
from simulrag.models.replies import Batch, Numbered, Reply, Text
from simulrag.records import Evidence, VerdictStatus
from simulrag.stand_in import Prompted, sentence
from simulrag.task import Task


class MarkedClaim(Numbered):
    """Which details one claim states, and whether the evidence holds them."""

    scenario: DetailMark
    place: DetailMark
    time: DetailMark
    magnitude: DetailMark


class DetailMarks(Batch):
    """Reply to ``score_details``; each claim's number has to be there exactly once."""

    claims: list[MarkedClaim]


class MaskedAnswer(Reply):
    """Reply to ``score_mask``."""

    answer: Text


class AskedBack(Reply):
    """Reply to ``score_ask_back``."""

    questions: list[Text]


def _as_many(prompted: Prompted) -> object:
    texts = (sentence(prompted.seed, number) for number in range(prompted.count))
    return {"questions": list(texts)}


SCORE_DETAILS = Task("score_details", DetailMarks, tokens=280)
SCORE_MASK = Task("score_mask", MaskedAnswer, tokens=180)
SCORE_ASK_BACK = Task("score_ask_back", AskedBack, tokens=200, stand_in=_as_many)
SCORE_CONFIDENCE = Task("score_confidence")
DETAILS = tuple(name for name in MarkedClaim.model_fields if name != "index")
_PLACE = {"city", "country", "county", "latitude", "longitude", "location", "network", "place"}
_PLACE |= {"region", "state", "states"}
_TIME = {"date", "day", "days", "hour", "month", "week", "weeks", "year", "years"}
_MASK = re.compile(r"\[(?:SCENARIO|OBJECT|ROLE|CONCERN)\]")

Found = TypeVar("Found")


@dataclass(frozen=True)
class Panel:
    """Who is asked. ``judges``: an asker and a sample index a vote; ``ask`` does all the rest.

    ``tools``: of the simulator whose runs are the evidence. ``probabilities``: log-probabilities of
    the answer's tokens after its question and some facts, by the model ``proxy``.
    """

    ask: Asker
    judges: Sequence[tuple[Asker, int]]
    tools: Mapping[str, Tool]
    probabilities: Callable[[AnswerToScore, Sequence[str]], Awaitable[Sequence[float]]] | None = (
        None
    )
    proxy: str = ""


async def ask_about(
    given: AnswerToScore, facts: Sequence[str], panel: Panel, settings: ScoreParams, *, forced: bool
) -> ScoredAnswer:
    """Ask models about one answer. ``facts``: the sentences of its evidence.

    A call that failed leaves its part empty, with the reason. Raises CallsPending where calls wait
    for a batch, after all that needs no reply of theirs was asked.
    """
    asked = ScoredAnswer(given=given, facts=tuple(facts))
    if given.failure is not None or not given.answer.strip():
        return asked.model_copy(update={"reasons": {"answer": given.failure or "it is empty"}})
    work = _OneAnswer(given, list(facts), panel, settings)
    parts = [work.about_claims()]
    if settings.asked_back:
        parts.append(work.asked_back())
    if forced and panel.probabilities is not None:
        parts.append(work.forced(panel.probabilities))
    answers: dict[str, Any] = {}
    for part in await together(parts):
        answers |= part
    return asked.model_copy(update={**answers, "reasons": dict(sorted(work.reasons.items()))})


class _OneAnswer:
    def __init__(
        self, given: AnswerToScore, facts: list[str], panel: Panel, settings: ScoreParams
    ) -> None:
        self.given, self.panel, self.settings = given, panel, settings
        self.size = settings.claims_per_call
        self.reasons: dict[str, str] = {}
        # All facts, then all but each.
        self.ablated = [facts, *(facts[:i] + facts[i + 1 :] for i in range(len(facts)))]

    async def tried(self, name: str, work: Awaitable[Found], otherwise: Found) -> Found:
        """Return the work's result, or ``otherwise`` with the reason noted under the name."""
        try:
            return await work
        except ModelError as error:
            self.reasons[name] = str(error)
            return otherwise

    async def about_claims(self) -> dict[str, Any]:
        given, claims = self.given, self.given.claims
        if claims is None:
            work = decompose_final(given.question, given.answer, self.panel.ask)
            claims = await self.tried("claims", work, ())
        parts = [self.votes(claims), self.readings(claims), self.verdicts(claims)]
        votes, readings, verdicts = await together(parts)
        return {"claims": claims, "votes": votes, "readings": readings, "verdicts": verdicts}

    async def votes(self, claims: Sequence[str]) -> Any:
        fields = declared(self.given.runs, self.panel.tools)

        async def vote(ask: Asker, sample: int) -> Votes:
            marked = await ask_in_batches(
                SCORE_DETAILS,
                claims,
                ask,
                claims_per_call=self.size,
                sample_index=sample,
                question=self.given.question,
                context="\n\n".join(self.given.texts),
                fields=fields,
            )
            return tuple(tuple(getattr(claim, name) for name in DETAILS) for claim in marked)

        none: Votes = (None,) * len(claims)
        judges = enumerate(self.panel.judges, start=1)
        asked = (self.tried(f"judge {number}", vote(*judge), none) for number, judge in judges)
        return tuple(await together(asked))

    async def readings(self, claims: Sequence[str]) -> Any:
        """Read what the answers say, where a variant of the question was answered too."""
        given, ask = self.given, self.panel.ask

        async def read(question: str, claims: Sequence[str], runs: Sequence[Evidence]) -> Any:
            listed = readable_runs(runs, self.panel.tools)
            return await read_claims(question, claims, listed, ask, claims_per_call=self.size)

        async def again(variant: Variant) -> Any:
            claims = await decompose_final(variant.question, variant.answer, ask)
            return await read(variant.question, claims, variant.evidence)

        variants = {"paraphrase": given.paraphrased, "perturbation": given.perturbed}
        work = {
            name: again(variant)
            for name, variant in variants.items()
            if variant is not None and variant.failure is None
        }
        if work:
            work["answer"] = read(given.question, claims, given.runs)
        tried = (self.tried(f"reading {name}", reading, None) for name, reading in work.items())
        readings = zip(work, await together(tried), strict=True)
        return {name: claims_read for name, claims_read in readings if claims_read is not None}

    async def verdicts(self, claims: Sequence[str]) -> Any:
        """Verify by all facts, then without each, where that is asked for."""
        if not (self.settings.dependence and self.ablated[0] and claims):
            return ()

        async def by(facts: Sequence[str]) -> tuple[VerdictStatus, ...]:
            if not facts:
                return tuple(["indeterminate"] * len(claims))
            verdicts = await verify_claims(
                self.given.question,
                claims,
                "\n".join(facts),
                self.panel.ask,
                claims_per_call=self.size,
            )
            return tuple(verdict.status for verdict in verdicts)

        return tuple(await self.tried("dependence", together(map(by, self.ablated)), []))

    async def asked_back(self) -> dict[str, Any]:
        answer, ask, count = self.given.answer, self.panel.ask, self.settings.asked_back

        def masked_only(reply: MaskedAnswer) -> None:
            if not re.search(r"\w", _MASK.sub("", reply.answer)):
                raise ValueError("nothing but masks is left: keep every other word of the answer")

        def counted(reply: AskedBack) -> None:
            if len(reply.questions) != count:
                raise ValueError(f"give {count} questions, not {len(reply.questions)}")

        async def work() -> dict[str, Any]:
            masked = await ask.ask(SCORE_MASK, check=masked_only, answer=answer)
            shown = masked.parsed.answer
            return {"masked": shown, "asked_back": await questions(shown, True)}

        async def plainly() -> dict[str, Any]:
            return {"asked_plainly": await questions(answer, False)}

        async def questions(shown: str, masked: bool) -> tuple[str, ...]:
            reply = await ask.ask(
                SCORE_ASK_BACK, check=counted, count=count, answer=shown, masked=masked
            )
            return tuple(reply.parsed.questions)

        tries = (("asking back", work()), ("asking plainly", plainly()))
        masked, plain = await together(self.tried(name, asking, {}) for name, asking in tries)
        return masked | plain

    async def forced(
        self, probabilities: Callable[[AnswerToScore, Sequence[str]], Awaitable[Sequence[float]]]
    ) -> dict[str, Any]:
        """Measure how probable the answer is with all facts, without each, and with none."""
        work = together(probabilities(self.given, facts) for facts in [*self.ablated, []])
        rows = tuple(tuple(row) for row in await self.tried("forcing", work, []))
        return {"forced": rows, "proxy": self.panel.proxy}


def declared(runs: Sequence[Evidence], tools: Mapping[str, Tool]) -> dict[str, list[str]]:
    """Sort the tools' fields by detail, as ``json_schema_extra={"detail": "place"}`` says.

    Undeclared ones go by unit and name; else an argument is of the scenario and an output a
    magnitude.
    """
    by_detail: dict[str, dict[str, None]] = {}
    for name in dict.fromkeys(run.call.tool for run in runs if run.call.tool in tools):
        tool = tools[name]
        for shape, other in ((tool.arguments, "scenario"), (tool.outputs, "magnitude")):
            for field in described(shape):
                by_detail.setdefault(_detail(field, other), {})[field.name] = None
    return {detail: list(by_detail[detail]) for detail in DETAILS if detail in by_detail}


def _detail(field: Described, otherwise: str) -> str:
    declared_as = field.schema.get("detail")
    if declared_as in DETAILS:
        return str(declared_as)
    words = {*field.name.split("_"), field.unit}
    return "place" if words & _PLACE else "time" if words & _TIME else otherwise
