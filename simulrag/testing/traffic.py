"""Replies in the shape of real traffic: about 34 claims a question from five answers of nine.

A test double's replies, not answers: they follow each task's schema and fit one another (claims of
one question recur in its other answers, some are out of the simulator's reach, some are wrong and
are mended by the evidence), so that whole pipelines run on them at a real model's volume, from the
templates of a benchmark to its labels. A benchmark is written by what a simulator's handbook shows
(``handbook_texts``); of other questions, ``question`` among them, it knows the urban simulator's
texts (``urban_texts``). A schema that it has no reply to gets a stand-in, as a plan has it.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from simulrag import registry
from simulrag.models.base import Message
from simulrag.stand_in import filled
from simulrag.testing.handbook_texts import (
    SET_UP,
    own_answer,
    own_calls,
    own_claim,
    own_question,
    own_templates,
    own_verdict,
)
from simulrag.testing.urban_texts import INSIDE, changes
from simulrag.testing.wires import (
    Body,
    bullets,
    messages,
    numbered,
    schema_name,
    schema_of,
    section,
)

CLAIMS_AN_ANSWER = 9
RECUR = (0, 3, 3, 3, 2)
"""Claims that the j-th answer shares with the first: 9 + 6 + 6 + 6 + 7 = 34 distinct ones."""
OUTSIDE = ("noise along the corridor", "turnover of nearby shops", "acceptance by residents")
SUBJECTS = (*INSIDE, *OUTSIDE)
NEAR_POINTS = 5.0
"""A stated percentage this near to the evidence's or the reference's counts as right."""
SCHEME = re.compile(r"scheme (\d+)")
_DECIMAL = re.compile(r"\d+\.\d+")
BEYOND = "What should be weighed besides?"
_SENTENCE = re.compile(r"(?<=\.) ")


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
    """An answerer for the loopback server: the reply to each schema, prose where there is none.

    A room's module ``replies`` adds ``REPLIES`` and, where it asks without a schema, ``prose``.
    Answers differ by the request's seed (send seed 0, to which the sample index is added); where
    none is sent, the n-th request with one body is sample n.
    """
    seen: Counter[int] = Counter()
    lock = threading.Lock()
    replies, proses = dict(_REPLIES), []
    for module in registry.each("replies"):
        replies |= module.REPLIES
        proses += [module.prose] if hasattr(module, "prose") else []

    def sample(body: Body) -> int:
        if body.get("seed") is not None:
            return int(body["seed"])
        with lock:
            asked = hash(json.dumps(body, sort_keys=True))
            seen[asked] += 1
            return seen[asked] - 1

    def answer(body: Body) -> str:
        said = [Message.model_validate(message) for message in messages(body)]
        name = schema_name(body)
        if name is None:
            told = (text for prose in proses if (text := prose(said)) is not None)
            return next(told, None) or _prose(said, sample(body))
        if name in replies:
            return json.dumps(replies[name](said))
        return json.dumps(filled(schema_of(body), said[-1].content, _listed(said)))

    return answer


def _listed(said: list[Message]) -> Callable[[str], int]:
    """How many items a prompt numbers under a name."""
    return lambda name: len(numbered(section(said, name) or ""))


def part_of(said: list[Message], tag: str) -> str:
    text = section(said, tag)
    if text is None:
        raise LookupError(f"the prompt has no <{tag}> part")
    return text


def _prose(said: list[Message], sample: int) -> str:
    """The final answer of claims, else an answer by the evidence, else one from what is known."""
    if section(said, "claims") is not None:
        return " ".join(bullets(part_of(said, "claims"))) or "Nothing can be said."
    evidence, answer = section(said, "evidence"), section(said, "answer")
    if evidence is not None and answer is not None:
        sentences = _SENTENCE.split(answer)
        return " ".join(_verdict(text, evidence)["updated_claim"] or text for text in sentences)
    if evidence is not None and (found := changes(evidence)):
        return " ".join(_states(subject, abs(change)) for subject, change in found.items())
    return " ".join(_from_memory(part_of(said, "question"), sample))


def _from_memory(asked: str, sample: int) -> list[str]:
    """The claims of a closed-book answer; to an own simulator's question one is out of reach."""
    if claims := own_answer(asked, sample):
        return [*claims, _claim(crc32(asked.encode()) % 6000, len(INSIDE), 0)]
    match = SCHEME.search(asked)
    scheme = int(match[1]) if match else crc32(asked.encode()) % 6000
    own = CLAIMS_AN_ANSWER - RECUR[sample % len(RECUR)]
    claims = [_claim(scheme, k, sample) for k in range(own)]
    return claims + [_claim(scheme, (sample + 3 * k) % CLAIMS_AN_ANSWER, 0) for k in range(9 - own)]


def _claim(scheme: int, subject: int, sample: int) -> str:
    # 37 and 6,000 share no divisor, so no two schemes below 6,000 make the same claim.
    percent = (37 * scheme + 700 * subject + 300 * sample) % 6000 / 100
    return _states(SUBJECTS[subject], percent)


def _states(subject: str, percent: float) -> str:
    return f"The {subject} changes by about {percent:.2f} percent."


def _subject(text: str) -> str | None:
    known = next((subject for subject in SUBJECTS if subject in text), None)
    own = own_claim(text) if known is None else None
    return own.about if own else known


def _templates(said: list[Message]) -> Any:
    return {"templates": own_templates(part_of(said, "handbook"), refused=said[-1].content)}


def _question(said: list[Message]) -> Any:
    asks = json.loads(part_of(said, "asks"))
    asked, reference = own_question(
        part_of(said, "situation"), asks, section(said, "asked") or "", part_of(said, "evidence")
    )
    return {"question": asked, "reference_answer": reference}


def _reference_claims(said: list[Message]) -> Any:
    sentences = _SENTENCE.split(part_of(said, "reference"))
    kinds = [("qualitative", "quantitative")[bool(_DECIMAL.search(text))] for text in sentences]
    claims = zip(sentences, kinds, strict=True)
    return {"claims": [{"claim": text, "kind": kind} for text, kind in claims]}


def _set_up_templates(said: list[Message]) -> Any:
    more = {"set_up": SET_UP, "beyond": [BEYOND]}
    return {"templates": [{**one, **more} for one in _templates(said)["templates"]]}


def _set_up_question(said: list[Message]) -> Any:
    written = _question(said)
    beyond = bullets(section(said, "beyond") or "")
    asked = " ".join((part_of(said, "set_up"), written["question"], *beyond))
    points = ["It depends on what is not simulated." for _ in beyond]
    return {**written, "question": asked, "open_points": points}


def _tool_calls(said: list[Message]) -> Any:
    """The call that the question names; of another on the corridor, one and the same."""
    if calls := own_calls(part_of(said, "question")):
        return {"calls": calls}
    known = "compare_with_baseline" in part_of(said, "handbook")
    call = {"tool": "compare_with_baseline", "arguments": {"speed_factor": 0.8}}
    return {"calls": [call] if known else []}


def _plan(said: list[Message]) -> Any:
    """The same, and enough with it."""
    return {**_tool_calls(said), "more": False}


def _audit(said: list[Message]) -> Any:
    """A claim a sentence: supported, wrong or open, as the first run decides."""
    evidence = part_of(said, "evidence")
    sentences = [text for text in _SENTENCE.split(part_of(said, "answer")) if text]
    return {
        "claims": [_audited(text, _verdict(text, evidence)) for text in sentences],
        "missing": [],
    }


def _audited(text: str, verdict: Mapping[str, Any]) -> Any:
    decided, wrong = verdict["is_included"], verdict["should_update"]
    return {
        "quote": text,
        "claim": text,
        "status": ("wrong" if wrong else "supported") if decided else "open",
        "runs": [1] if decided else [],
        "correction": verdict["updated_claim"],
        "runnable": False,
    }


def _mending(said: list[Message]) -> Any:
    """Each wrong quote replaced by what is right, and what is missing at the end."""
    text, places = part_of(said, "answer"), []
    for number, quote, right, missing in _CHANGE.findall(part_of(said, "changes")):
        says = right or missing
        text = text.replace(quote, says) if quote else f"{text} {says}"
        places.append({"change": int(number), "quote": says})
    return {"text": text, "places": places}


_CHANGE = re.compile(r'^(\d+)\. (?:wrong: "(.*)"; right: (.*)|missing: (.*))$', re.M)


def _decomposition(said: list[Message]) -> Any:
    return {"claims": [{"claim": text} for text in _SENTENCE.split(part_of(said, "answer"))]}


def _pairs(said: list[Message]) -> Any:
    existing, new = numbered(part_of(said, "existing")), numbered(part_of(said, "new"))
    place = {text: i for i, text in enumerate(existing)}
    return {"pairs": [[place[text], j] for j, text in enumerate(new) if text in place]}


def _entailment(said: list[Message]) -> Any:
    answer = part_of(said, "answer")
    return {"supported": [text in answer for text in numbered(part_of(said, "claims"))]}


def _inside(claim: str) -> Any:
    return {"tool_confidence": int(_subject(claim) in INSIDE or own_claim(claim) is not None)}


def _verdict(claim: str, evidence: str) -> Any:
    """Right where its numbers stand in the evidence, or near; mended where the evidence differs."""
    if (own := own_claim(claim)) is not None and own.about not in SUBJECTS:
        return own_verdict(own, evidence)
    subject, stated = _subject(claim), _DECIMAL.findall(claim)
    verdict = {"is_included": subject in INSIDE, "should_update": False, "updated_claim": ""}
    if subject not in INSIDE or all(number in evidence for number in stated):
        return verdict
    change = changes(evidence).get(subject)
    if change is None:
        return {**verdict, "is_included": False}
    if abs(float(stated[0]) - abs(change)) <= NEAR_POINTS:
        return verdict
    return {**verdict, "should_update": True, "updated_claim": _states(subject, abs(change))}


def _label(claim: str, reference: str) -> Any:
    """By the reference's sentence on the same subject; by chance where it has none of ours."""
    sentences = _SENTENCE.split(reference)
    subject, stated = _subject(claim), _DECIMAL.findall(claim)
    settling = [text for text in sentences if subject is not None and subject in text]
    if claim in sentences:
        return _judged("true", "The reference says so.")
    if not any(map(_subject, sentences)):
        chance = ("true", "false", "undecided")[crc32(claim.encode()) % 3]
        return _judged(chance, "The reference is not of the test double.")
    if not settling:
        return _judged("undecided", "The reference does not speak of it.")
    numbers = [float(number) for text in settling for number in _DECIMAL.findall(text)]
    near = stated and any(abs(float(stated[0]) - number) <= NEAR_POINTS for number in numbers)
    return _judged("true" if near else "false", "The reference states it otherwise or so.")


def _judged(label: str, reason: str) -> Any:
    return {"label": label, "reason": reason}


def _each(said: list[Message], judge: Callable[[str], Any]) -> Any:
    claims = numbered(part_of(said, "claims"))
    return {"claims": [{"index": i, **judge(claim)} for i, claim in enumerate(claims)]}


def _stated(claim: str) -> Any:
    return {"probability": crc32(claim.encode()) % 101 / 100}


def _shown(said: list[Message]) -> Any:
    """Chances of numbered claims: by the evidence where some is shown, else by chance."""
    evidence = section(said, "evidence")

    def chance(claim: str) -> Any:
        verdict = _verdict(claim, evidence or "")
        decided = evidence is not None and verdict["is_included"]
        if not decided:
            return _stated(claim)
        return {"probability": 0.05 if verdict["should_update"] else 0.95}

    return _each(said, chance)


def _by(judge: Callable[[str, str], Any], tag: str) -> Callable[[list[Message]], Any]:
    """One claim judged by the text of a tag."""
    return lambda said: judge(part_of(said, "claim"), part_of(said, tag))


def _each_by(judge: Callable[[str, str], Any], tag: str) -> Callable[[list[Message]], Any]:
    """Numbered claims, each judged by the text of a tag."""
    return lambda said: _each(said, lambda claim: judge(claim, part_of(said, tag)))


_REPLIES: Mapping[str, Callable[[list[Message]], Any]] = {
    "Templates": _templates,
    "BenchmarkQuestion": _question,
    "ReferenceClaims": _reference_claims,
    "ToolCalls": _tool_calls,
    "Plan": _plan,
    "AuditReply": _audit,
    "Mending": _mending,
    "Queries": lambda _: {"queries": [" ".join(one.split()[-2:]) for one in SUBJECTS[2:7]]},
    "Decomposition": _decomposition,
    "ClaimPairs": _pairs,
    "Entailment": _entailment,
    "Boundary": lambda said: _inside(part_of(said, "claim")),
    "BoundaryBatch": lambda said: _each(said, _inside),
    "Verification": _by(_verdict, "evidence"),
    "VerificationBatch": _each_by(_verdict, "evidence"),
    "Verbalized": lambda said: _stated(part_of(said, "claim")),
    "VerbalizedBatch": _shown,
    "Judgement": _by(_label, "reference"),
    "JudgementBatch": _each_by(_label, "reference"),
    "SetUpTemplates": _set_up_templates,
    "SetUpQuestion": _set_up_question,
}
"""By the name of the schema that is asked for."""
