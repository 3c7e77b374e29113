"""Whose documents the answers rest on, under which licence; shown where any were found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from flows.report.blocks import DASH, Block, ReportSection, Table, count
from flows.report.run import Credits, ReportedRun
from simulrag.records import DOCUMENT_TOOL, Answer

_TOLD = ("document", "attribution", "licence")


def credited(answers: Iterable[Answer]) -> Credits:
    """By document, who is to be credited and licence: passages shown, and questions."""
    shown: Counter[tuple[str, ...]] = Counter()
    questions: Counter[tuple[str, ...]] = Counter()
    for answer in answers:
        found: Counter[tuple[str, ...]] = Counter()
        for evidence in answer.evidence:
            passages = evidence.outputs.get("passages")
            if evidence.call.tool == DOCUMENT_TOOL and isinstance(passages, list):
                told = (one for one in passages if isinstance(one, dict))
                found.update(tuple(str(one.get(name) or DASH) for name in _TOLD) for one in told)
        shown += found
        questions.update(found.keys())
    return {works: (shown[works], questions[works]) for works in sorted(shown)}


def blocks(run: ReportedRun) -> Iterator[Block]:
    """A line a document."""
    for domain, found in run.credits.items():
        if found:
            yield Table(
                name="documents",
                caption=f"{domain}: documents whose passages were shown as evidence",
                columns=("Document", "By", "Licence", "Passages", "Questions"),
                rows=tuple((*works, *map(count, counts)) for works, counts in found.items()),
                headers=1,
                domain=domain,
            )


SECTION = ReportSection("documents", "Whose documents were used", blocks)
