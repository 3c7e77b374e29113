"""A long table and traces of a small made-up run, friendly or hostile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flows.report.page import write_report
from flows.report.run import DomainTable, Judged, ReportedRun, RunSummary
from flows.report.traces import Traced
from simulrag.metrics.methods import ALL_RAG, BUDGETED, GROUNDED, NO_RAG, UE_SBA
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import Measurement
from simulrag.records import (
    Answer,
    AnswerVariant,
    Audit,
    FinalMethod,
    FinalText,
    MissingPoint,
    Retrieval,
    Statement,
    Verdict,
    claim_hash,
)
from tests.making import evidence
from tests.unit.metrics.synthetic import Study, study

SETTINGS = MetricSettings(further_centralities=("degree",))
RECORDED = """# The recorded run

45 questions, asked of the live simulators and
answered in November 2026.

**Who answered.** A Claude model (`model: claude`).

**What to keep in mind**

- Tokens were not counted.
- The judge and the answerer are
  one model family.

| a | table |
"""
SUMMARY = RunSummary(
    models={"answer": "anthropic: claude"}, replayed=("answer",), recorded=RECORDED
)
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \u2028 {{ 7*7 }}"
CALLS = {("answer", ""): ["0123456789abcdef" * 4], ("answer", "verify"): ["ab" * 32, "cd" * 32]}
NOT_COUNTED = "tokens were not counted"
LINES: tuple[tuple[FinalMethod, float | None, int], ...] = (
    *(("simulrag", 100.0, 5), ("simulrag", 25.0, 5), ("simulrag", 25.0, 1)),
    *(("input_rag", None, 1), ("output_rag", None, 1), ("closed_book", None, 1)),
)
"""The final answers: method, budget and m."""
STANDINGS: dict[str, tuple[int, int, int, int]] = {
    "checked": (30, 1, 2, 0),
    "corrected": (4, 1, 0, 1),
    "added": (3, 0, 0, 0),
    "wrong": (0, 2, 0, 0),
    "not_run": (1, 1, 1, 0),
    "judgement": (2, 1, 5, 0),
    "beyond": (0, 0, 9, 1),
}
"""Of grounded answers by standing: true, false, undecided, without a label."""


def rows(domain: str = "urban") -> list[Measurement]:
    """A row or more of every family, values that differ by line."""
    return [
        *_coverage(domain),
        *_claims(domain),
        *_answers(domain),
        *_shares(domain),
        *_costs(domain),
    ]


def kappa_rows(domain: str = "urban") -> list[Measurement]:
    """SimulRAG with kappa and without, and what is counted of each."""
    plain = [replace(row, kappa=0.4) if row.method == "simulrag" else row for row in rows(domain)]
    ours = [row for row in plain if row.kappa and row.family != "method_cost"]
    without = [replace(row, kappa=0.0, value=0.5) for row in ours]
    counted = [
        replace(row, metric=metric, value=value)
        for row in (*ours, *without)
        if (row.family, row.metric) == ("answers", "factuality")
        for metric, value in (("completeness", 0.8), ("words", 93.0))
    ]
    return [*plain, *without, *counted]


def grounded_rows(domain: str = "urban") -> list[Measurement]:
    """A grounded answer and RAG by looks beside the published method and RAG."""
    plain = rows(domain)
    rag = [
        row
        for row in plain
        if row.method == "input_rag" and row.family in ("answers", "method_cost")
    ]
    looks = [replace(row, method="rag_looks") for row in rag]
    compared = [
        replace(row, method=GROUNDED, budget_percent=None, samples=1)
        for row in plain
        if (row.family, row.level, row.budget_percent) == ("comparisons", "answer", 100)
    ]
    ends: dict[str, Any] = {"value": 0.1, "lower_95": 0.05, "upper_95": 0.15}
    published = replace(
        compared[0],
        baseline="SimulRAG at 100 %",
        more={**compared[0].more, "baseline_samples": 5},
        **ends,
    )
    ours = [row for row in alone_rows(domain) if row.method == GROUNDED]
    return [*plain, *looks, *compared, published, *ours]


def alone_rows(domain: str = "urban") -> list[Measurement]:
    """A grounded answer with nothing to compare with: no claims, no closed book."""
    found = [row for row in rows(domain) if row.family in ("coverage", "retrieval", "benchmark")]
    found += [row for row in rows(domain) if row.family in ("cost", "spending")]
    ours = [
        replace(row, method=GROUNDED)
        for row in rows(domain)
        if row.method == "input_rag" and row.family in ("answers", "method_cost")
    ]
    counted = [
        replace(row, metric=metric, value=value)
        for row in ours
        if (row.family, row.metric) == ("answers", "factuality")
        for metric, value in (("completeness", 0.9), ("words", 93.0), ("undecided_claims", 1.5))
    ]
    return [*found, *ours, *counted, *_standings(domain)]


def looked_up(domain: str) -> list[Measurement]:
    """The rows of a domain whose questions were all answered from published evidence."""
    return [replace(row, value=7.0) if row.metric == "replayed" else row for row in rows(domain)]


def run_of(*tables: DomainTable, summary: RunSummary = SUMMARY) -> ReportedRun:
    return ReportedRun(SETTINGS, tables or (DomainTable.of("urban", rows()),), summary)


def traced(data: Study) -> Iterator[Traced]:
    for question, answer in zip(data.questions, data.answers, strict=True):
        labels = {
            label.claim_hash: Judged(str(label.label), label.reason)
            for label in data.labels
            if label.question_id == question.question_id
        }
        yield Traced(question, answer, labels, CALLS)


def hostile_study() -> Study:
    """Three questions; every text of the second one is hostile."""
    data = study(3)
    asked = data.questions[1].model_copy(update={"text": HOSTILE, "reference_answer": HOSTILE})
    record = data.answers[1]
    spoiled = record.claims[0].model_copy(update={"text": HOSTILE})
    found = evidence().model_copy(update={"text": HOSTILE})
    changed = record.model_copy(
        update={
            "claims": (spoiled, *record.claims[1:]),
            "closed_book": (HOSTILE,),
            "final": record.final.model_copy(update={"text": HOSTILE}),
            "retrieval": Retrieval(status="retrieved", evidence=(found,), problems=(HOSTILE,)),
        }
    )
    return Study(
        questions=(data.questions[0], asked, data.questions[2]),
        answers=(data.answers[0], changed, data.answers[2]),
        labels=(
            *data.labels,
            data.labels[0].model_copy(
                update={"question_id": record.question_id, "claim_hash": claim_hash(HOSTILE)}
            ),
        ),
        finals=data.finals,
    )


def corrected_study() -> Study:
    """Two questions; the second claim of the first one was corrected, and nothing else checked."""
    data = study(2, failures=0)
    record = data.answers[0]
    wrong = Verdict(status="contradicted", updated_claim="It rises by 12.5 percent.")
    claims = list(record.claims)
    claims[1] = claims[1].model_copy(update={"verdict": wrong})
    final = record.final.model_copy(update={"selected": (1,), "kept": (1, 2)})
    changed = record.model_copy(update={"claims": tuple(claims), "final": final})
    return Study(data.questions, (changed, data.answers[1]), data.labels, data.finals)


def grounded_study() -> Study:
    """Three questions: a grounded answer with every standing, a hostile one, one of no evidence."""
    data = study(3, failures=0)
    first, second, third = data.questions
    spoiled = grounded_answer(
        f"It rises. {HOSTILE}",
        [
            Statement(text=HOSTILE, standing="corrected", before=HOSTILE, runs=(0,)),
            Statement(text=HOSTILE, standing="wrong", correction=HOSTILE, runs=(0,)),
        ],
        quotes=[HOSTILE, "It rises."],
        runs=[HOSTILE],
    )
    answers = (
        every_standing(),
        spoiled,
        grounded_answer("Nobody can say.", [], runs=[], verified=False),
    )
    named = tuple(
        one.model_copy(update={"question_id": asked.question_id, "domain": asked.domain})
        for one, asked in zip(answers, (first, second, third), strict=True)
    )
    return Study(data.questions, named, (), ())


def every_standing() -> Answer:
    """A grounded answer: marks that overlap, and two statements without a place."""
    rises = "Mean travel time rises by 12.5 percent"
    text = (
        f"{rises}, which is significant. At the peak it is 136 s, up from 121 s. Freight would be "
        "hit hardest, and residents may complain. Speed falls to 31 km/h. Cycling may gain."
    )
    statements = [
        Statement(text=f"{rises}.", standing="corrected", before="It falls.", runs=(0,)),
        Statement(text="The change is significant.", standing="judgement"),
        Statement(text="At the peak it is 136 s.", standing="checked", runs=(0, 1)),
        Statement(text="Freight is hit hardest.", standing="not_run"),
        Statement(text="Residents may complain.", standing="beyond"),
        Statement(text="Speed falls to 31 km/h.", standing="added", runs=(1,)),
        Statement(text="Cycling may gain.", standing="wrong", correction="It loses.", runs=(0,)),
        Statement(text="The effect holds all day.", standing="checked", runs=(1,)),
        Statement(text="Noise falls.", standing="beyond"),
    ]
    quotes = [
        *(rises, f"{rises}, which is significant", "At the peak it is 136 s"),
        *("Freight would be hit hardest", "residents may complain"),
        *("Speed falls to 31 km/h.", "Cycling may gain"),
    ]
    return grounded_answer(text, statements, quotes, ["It rises by 12.5 %.", "Peak: 136 s."])


def grounded_answer(
    text: str,
    statements: Sequence[Statement],
    quotes: Sequence[str] = (),
    runs: Sequence[str] = ("It rises by 12.5 %.",),
    *,
    missing: Sequence[MissingPoint] = (),
    verified: bool = True,
) -> Answer:
    """A grounded answer. ``quotes``: of its first statements, those that have a place."""
    placed = [
        one.model_copy(
            update={
                "quote": words,
                "start": text.index(words),
                "end": text.index(words) + len(words),
            }
        )
        for one, words in zip(statements, quotes, strict=False)
    ]
    return Answer(
        question_id="q",
        domain="urban",
        retrieval=Retrieval(
            status="retrieved" if runs else "not_applicable",
            evidence=tuple(evidence(told) for told in runs),
        ),
        audit=Audit(text=text, missing=tuple(missing)) if runs else None,
        final=FinalText(
            line=AnswerVariant(method="grounded", samples=1),
            text=text,
            statements=(*placed, *statements[len(placed) :]),
        ),
        verified=verified,
    )


def written(folder: Path, run: ReportedRun, data: Study) -> str:
    """The report's text."""
    write_report(folder / "index.html", run, traced(data))
    return (folder / "index.html").read_text(encoding="utf-8")


def _row(family: str, domain: str, metric: str, **more: Any) -> Measurement:
    return Measurement(family=family, domain=domain, metric=metric, **more)


def _coverage(domain: str) -> Iterator[Measurement]:
    counts = {"questions": 8, "completed": 7, "claims": 70, "labels_missing": 0, "replayed": 0}
    counts |= {"with_evidence": 7, "checked": 7}
    for metric, value in counts.items():
        yield _row("coverage", domain, metric, value=value, coverage=0.875)


def _claims(domain: str) -> Iterator[Measurement]:
    budgets = SETTINGS.budgets_percent
    lines = [(NO_RAG, 0), *((method, b) for b in budgets for method in BUDGETED), (ALL_RAG, 100)]
    leading = {"centrality": "closeness", "undecided": "excluded"}
    for place, (method, budget) in enumerate(lines):
        line: dict[str, Any] = {"method": method, "budget_percent": budget}
        value = 0.5 + 0.02 * place
        line |= {"value": value, "lower_95": value - 0.1, "upper_95": value + 0.1, "n": 70}
        for metric in ("f1", "aupr", "auroc", "true_share", "share_spent"):
            for centrality in SETTINGS.centralities:
                for undecided in ("excluded", "false"):
                    variant = {"centrality": centrality, "undecided": undecided}
                    yield _row("claims", domain, metric, **line, **variant)
        for step in range(5):
            yield _row("precision_recall", domain, "precision", **line, more={"x": step / 5})
    ends = {"value": 0.02, "lower_95": -0.01, "upper_95": 0.05}
    tested = {"p": 0.2, "p_holm": 0.6}
    for unit in ("difference", "percent"):
        for budget in budgets:
            line = {"method": UE_SBA, "baseline": "random", "budget_percent": budget}
            line |= {"level": "claim", "unit": unit, **leading, **ends}
            yield _row("comparisons", domain, "auroc", **line, more=tested)


def _answers(domain: str) -> Iterator[Measurement]:
    for place, line in enumerate(_lines()):
        for metric, scale in (("informativeness", 8), ("factuality", 1)):
            value = scale * (1 - 0.1 * place)
            ends = {"value": value, "lower_95": value - 0.05, "upper_95": value, "coverage": 0.875}
            for undecided in ("excluded", "false"):
                for failures in ("excluded", "zero"):
                    variant = {"undecided": undecided, "failures": failures}
                    yield _row("answers", domain, metric, **line, **ends, **variant)
    for budget in (100.0, 25.0):
        for baseline, value in (("input_rag", -0.2), ("closed_book", 0.5)):
            line = {"method": "simulrag", "budget_percent": budget, "samples": 5}
            line |= {"baseline": baseline, "level": "answer", "unit": "difference"}
            ends = {"value": value, "lower_95": value - 0.1, "upper_95": value + 0.1}
            line |= {"undecided": "excluded", **ends}
            tested = {"baseline_samples": 1, "p": 0.01, "p_holm": 0.02}
            yield _row("comparisons", domain, "factuality", **line, more=tested)


def _lines() -> Iterator[dict[str, Any]]:
    for method, budget, samples in LINES:
        yield {"method": method, "budget_percent": budget, "samples": samples, "n": 7}


def _standings(domain: str) -> Iterator[Measurement]:
    """Statements of grounded answers by standing and label."""
    for standing, counts in STANDINGS.items():
        place: dict[str, Any] = {"method": GROUNDED, "samples": 1, "level": standing}
        names = ("true", "false", "undecided", "unlabelled")
        for name, number in zip(names, counts, strict=True):
            yield _row("standings", domain, name, value=float(number), **place)
        decided = sum(counts[:2])
        share = counts[0] / decided if decided else None
        reason = "" if decided else "undefined: none is labelled true or false"
        told = {"value": share, "n": decided, "reason": reason}
        yield _row("standings", domain, "true_share", **place, **told)


def _shares(domain: str) -> Iterator[Measurement]:
    share = {"value": 0.25, "lower_95": 0.2, "upper_95": 0.3, "n": 70}
    for metric in ("filtered", "kept_decided", "filtered_decidable"):
        yield _row("boundary", domain, metric, **share)
    for metric in ("tool", "call", "arguments", "failed"):
        yield _row("retrieval", domain, metric, coverage=1.0, **share)
    yield _row("benchmark", domain, "claims", **share)
    before = {"method": NO_RAG, "budget_percent": 0, "undecided": "excluded", **share}
    yield _row("calibration", domain, "ece", **before)
    yield _row("calibration", domain, "reliability", more={"bin": 3, "x": 0.3}, **before)
    for kind in ("all", "number", "other"):
        for metric, centrality in (
            ("auroc", "closeness"),
            ("auroc", "verbalized"),
            ("auroc_gain", "verbalized"),
        ):
            yield _row("foresight", domain, metric, centrality=centrality, level=kind, **share)


def _costs(domain: str) -> Iterator[Measurement]:
    yield _row("cost", domain, "simulator_runs", step="simulator", value=1.2)
    for metric, value in (("calls", 12.5), ("input_tokens", None), ("input_tokens_estimated", 900)):
        known = {"value": value, "reason": NOT_COUNTED if value is None else ""}
        for step in ("verify", "all"):
            yield _row("cost", domain, metric, step=step, **known)
        paid = {"stage": "answer", "model": "anthropic:claude"}
        yield _row("spending", domain, metric, more=paid, **known)
        for budget in SETTINGS.budgets_percent:
            line = {"method": UE_SBA, "budget_percent": budget, "level": "claim", "step": "all"}
            yield _row("method_cost", domain, metric, **line, **known)
    for place, line in enumerate(_lines()):
        at = {**line, "level": "answer", "step": "all"}
        told = {"calls": 12.5, "input_tokens_estimated": 900, "output_tokens_estimated": 250}
        for metric, value in (told | {"chain": 2}).items():
            yield _row("method_cost", domain, metric, **at, value=float(value * (1 + place)))
        for metric in ("input_tokens", "output_tokens"):
            yield _row("method_cost", domain, metric, **at, reason=NOT_COUNTED)
