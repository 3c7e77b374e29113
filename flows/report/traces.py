"""One question's whole way, as data for the report's question browser."""

from __future__ import annotations

import base64
import difflib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from flows.report.run import Judged
from flows.report.words import method_name
from simulrag.records import (
    Answer,
    Claim,
    FinalText,
    Question,
    claim_hash,
)
from simulrag.shown import (
    LEFT_OUT,
    NO_PLACE,
    STANDINGS,
    is_marked,
    left_out,
    legend,
    pieces,
    readable,
    stands_without,
)


@dataclass(frozen=True)
class Traced:
    """One question's records. ``labels``: of its claim texts, by claim hash.

    ``calls``: the keys of the calls that were made for it, by stage and task ("": simulator runs).
    """

    question: Question
    answer: Answer
    labels: Mapping[str, Judged]
    calls: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)


BLOCK = 20
"""Questions in one compressed block: enough to compress well, few enough to open at once."""
KEY = 12
"""Characters of a call's key that are shown: no two calls of a project begin alike so far."""
_NEVER = Judged("missing", "never judged")
_STANDING = {"aligned": "checked", "contradicted": "corrected"}


def trace(traced: Traced, centrality: str) -> dict[str, Any]:
    """Collect everything that a reader needs to see why the answer says what it says."""
    question, answer, final = traced.question, traced.answer, traced.answer.final
    retrieval = answer.retrieval
    failure = answer.failure
    marked = is_marked(answer)
    return {
        "id": question.question_id,
        "domain": question.domain,
        "scenario": question.scenario_id,
        "question": question.text,
        "reference": question.reference_answer,
        "failure": None if failure is None else {"step": failure.step, "reason": failure.reason},
        "retrieval": None
        if retrieval is None
        else {"status": retrieval.status, "problems": _problems(answer)},
        "evidence": [
            {
                "call": f"{item.simulator}.{item.call.tool}",
                "arguments": json.dumps(item.call.arguments, sort_keys=True, ensure_ascii=False),
                "seed": item.seed,
                "text": item.text,
                "readable": readable(item),
            }
            for item in (retrieval.evidence if retrieval is not None else ())
        ],
        "closed_book": list(answer.closed_book),
        "claims": [
            _claim(claim, index, traced, centrality) for index, claim in enumerate(answer.claims)
        ],
        "says": _says(answer),
        "final": final.text,
        "marked": marked,
        "stretches": [asdict(piece) for piece in pieces(final.text, final.statements)]
        if marked
        else [],
        "signs": _signs(final) if marked else [],
        "titles": {"no_place": NO_PLACE, "missing": LEFT_OUT},
        "missing": [{"text": point.text, "runs": list(point.runs)} for point in left_out(answer)],
        "method": method_name(final.line.method),
        "budget": final.line.budget_percent,
        "others": [_other(text) for text in answer.baselines],
        "verified": answer.verified,
        "calls": sum(usage.calls for usage in answer.usage.values()),
        "made_by": [
            {"stage": stage, "task": task, "keys": [key[:KEY] for key in keys]}
            for (stage, task), keys in traced.calls.items()
        ],
    }


def blocks(traces: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Pack the traces in order, ``BLOCK`` at a time: JSON lists, deflated (RFC 1950), in base64."""
    part: list[dict[str, Any]] = []
    for item in traces:
        part.append(item)
        if len(part) == BLOCK:
            yield _block(part)
            part = []
    if part:
        yield _block(part)


def _block(part: list[dict[str, Any]]) -> str:
    text = json.dumps(part, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")


def index_entry(traced: Traced) -> dict[str, Any]:
    """Return what the list of questions shows and filters by."""
    question, answer = traced.question, traced.answer
    failed = answer.failure is not None or any(
        claim.verdict is not None and claim.verdict.status == "error" for claim in answer.claims
    )
    return {
        "id": question.question_id,
        "domain": question.domain,
        "text": question.text,
        "standings": sorted({item["standing"] for item in _says(answer)}),
        "failed": failed,
        "verified": answer.verified,
    }


def _other(text: FinalText) -> dict[str, Any]:
    return {
        "method": method_name(text.line.method),
        "budget": text.line.budget_percent,
        "without_kappa": text.line.kappa == 0,
        "samples": text.line.samples,
        "kept": len(text.kept),
        "verified": len(text.selected),
        "text": text.text,
        "failure": text.failure,
    }


def _problems(answer: Answer) -> list[str]:
    """Tell what retrieval, and what came after the audit, did in vain; each once."""
    problems = answer.retrieval.problems if answer.retrieval else ()
    audit = answer.audit.problems if answer.audit else ()
    return list(filter(None, dict.fromkeys((stands_without(answer), *problems, *audit))))


def _signs(final: FinalText) -> list[dict[str, str]]:
    """List each standing's sign, its words, what leads to its runs, and its meaning."""
    return [
        {
            "standing": standing,
            "sign": STANDINGS[standing].sign,
            "words": STANDINGS[standing].words,
            "by": STANDINGS[standing].by,
            "meaning": meaning,
        }
        for standing, meaning in legend(final.statements)
    ]


def _says(answer: Answer) -> list[dict[str, Any]]:
    """List what the answer says, each part with its standing."""
    if is_marked(answer):
        return [item.model_dump(mode="json") for item in answer.final.statements]
    return list(_from_claims(answer))


def _from_claims(answer: Answer) -> Iterator[dict[str, Any]]:
    """Tell what the paper's method wrote its text from: the kept claims, by what became of them."""
    for index in answer.final.kept:
        claim = answer.claims[index]
        status = claim.verdict.status if claim.verdict and index in answer.final.selected else ""
        standing = _STANDING.get(status, "outside" if claim.boundary is False else "unchecked")
        text = claim.after if standing == "corrected" else claim.text
        yield {"text": text, "standing": standing, "claim": index}


def _claim(claim: Claim, index: int, traced: Traced, centrality: str) -> dict[str, Any]:
    answer = traced.answer
    verdict = claim.verdict
    confidence = claim.confidence.get(centrality)
    return {
        "text": claim.text,
        "support": [int(supports) for supports in claim.support],
        "confidence": None if confidence is None else round(confidence, 4),
        "verbalized": claim.verbalized,
        "boundary": claim.boundary,
        "selected": index in answer.final.selected,
        "kept": index in answer.final.kept,
        "verdict": None if verdict is None else verdict.status,
        "reason": None if verdict is None else verdict.reason,
        "edit": word_diff(claim.text, claim.after) if claim.after != claim.text else None,
        "before": asdict(traced.labels.get(claim_hash(claim.text), _NEVER)),
        "after": asdict(traced.labels.get(claim_hash(claim.after), _NEVER)),
    }


def word_diff(before: str, after: str) -> list[tuple[str, str]]:
    """Cut into runs of words that stay, go and come: ("same" | "removed" | "added", text).

    The kept and removed runs joined are ``before``; the kept and added ones are ``after``, where
    white space is the same in both.
    """
    old, new = re.findall(r"\S+\s*", before), re.findall(r"\S+\s*", after)
    bare_old, bare_new = [word.strip() for word in old], [word.strip() for word in new]
    runs: list[tuple[str, str]] = []
    matcher = difflib.SequenceMatcher(None, bare_old, bare_new, autojunk=False)
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind == "equal":
            runs.append(("same", "".join(old[i1:i2])))
            continue
        if i2 > i1:
            runs.append(("removed", "".join(old[i1:i2])))
        if j2 > j1:
            runs.append(("added", "".join(new[j1:j2])))
    return runs


def script_json(value: object) -> str:
    """Write JSON that may stand inside a script element: no character that could end it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
