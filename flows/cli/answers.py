"""An answer as ``simulrag ask`` shows it: to programs as JSON, to people as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flows.report.words import method_name
from simulrag.method.recipes import MARKED
from simulrag.records import Answer, AnswerVariant, Statement
from simulrag.shown import (
    LEFT_OUT,
    NO_PLACE,
    STANDINGS,
    is_marked,
    left_out,
    legend,
    pieces,
    run_words,
    statement_words,
    unverified,
    without_place,
)


def answer_json(question: str, answer: Answer) -> dict[str, Any]:
    """An answer for programs."""
    final = answer.final
    selected, kept = set(final.selected), set(final.kept)
    return {
        "question": question,
        "answer": final.text,
        "method": final.line.method,
        "verified": answer.verified,
        "statements": [statement.model_dump(mode="json") for statement in final.statements],
        "claims": [
            {
                "claim": claim.after if i in selected else claim.text,
                "before": claim.text,
                "confidence": claim.confidence,
                "boundary": claim.boundary,
                "selected": i in selected,
                "verdict": claim.verdict.status if claim.verdict else None,
                "kept": i in kept,
            }
            for i, claim in enumerate(answer.claims)
        ],
        "audit": None if answer.audit is None else answer.audit.model_dump(mode="json"),
        "evidence": [item.model_dump(mode="json") for item in answer.evidence],
        "usage": {task: usage.model_dump() for task, usage in answer.usage.items()},
    }


def show_answer(
    question: str, answer: Answer, source: str, centrality: str, *, given: bool = False
) -> None:
    """The answer, then why each part of it is there, for people. ``given``: a text of somebody's.

    A grounded one with a sign behind each quote, what the signs mean, and in words what is not
    simply checked.
    """
    console = Console(highlight=False)
    console.print()
    console.print(_marked(answer))
    if words := unverified(answer, given=given):
        console.print(Text(f"\n{words}", style="yellow"))
    if is_marked(answer):
        _show_statements(console, answer)
    console.print(Text(f"\n{question}", style="dim"))
    console.print(Text(f"{source[:1].upper()}{source[1:]}.", style="dim"))
    if not given:
        console.print(Text(f"{line_words(answer.final.line)}.", style="dim"))
    if not is_marked(answer):
        _show_claims(console, answer, centrality)
    for number, item in enumerate(answer.evidence, start=1):
        call = f"{item.simulator}.{item.call.tool} {item.call.arguments}"
        console.print(Text.assemble((f"\nRun {number}: ", "bold"), call))
        console.print(Text(item.text))


def _marked(answer: Answer) -> Text:
    text = Text()
    for piece in pieces(answer.text, answer.final.statements):
        colour = STANDINGS[piece.standing].colour if piece.standing else ""
        text.append(piece.text, f"underline {colour}" if colour else None)
        for end in piece.endings:
            _, sign, colour, _ = STANDINGS[end.standing]
            text.append(f" {sign}{','.join(str(run + 1) for run in end.runs)}", f"bold {colour}")
    return text


def _show_statements(console: Console, answer: Answer) -> None:
    """What the signs mean, and in words what they do not say in full."""
    statements = answer.final.statements
    meanings = [f"{STANDINGS[standing].sign} {words}" for standing, words in legend(statements)]
    if meanings:
        numbered = "; ✓2: checked by run 2" if any(item.runs for item in statements) else ""
        console.print(Text(f"\n{' · '.join(meanings)}{numbered}", style="dim"))
    apart = without_place(answer)
    _show_list(console, NO_PLACE, [_told(item) for item in apart])
    there = [item for item in statements if item not in apart and item.standing != "checked"]
    _show_list(console, "In the text, and not simply checked", [_told(item) for item in there])
    points = [Text(f"{point.text} ({run_words(point.runs)})") for point in left_out(answer)]
    _show_list(console, LEFT_OUT, points)
    for problem in answer.audit.problems if answer.audit else ():
        console.print(Text(f"\nProblem: {problem}", style="dim"))


def _show_list(console: Console, title: str, items: Sequence[Text]) -> None:
    if items:
        console.print(Text(f"\n{title}:", style="bold"))
    for number, item in enumerate(items, start=1):
        console.print(Text.assemble(f"  {number}. ", item))


def _told(item: Statement) -> Text:
    _, sign, colour, _ = STANDINGS[item.standing]
    return Text.assemble(f"{item.text}  ", (f"[{sign} {statement_words(item)}]", colour))


def _show_claims(console: Console, answer: Answer, centrality: str) -> None:
    table = Table("claim", "confidence", "in reach", "verdict", "kept", title="Claims")
    selected, kept = set(answer.final.selected), set(answer.final.kept)
    for i, claim in enumerate(answer.claims):
        verdict = claim.verdict.status if claim.verdict and i in selected else "not selected"
        shown = Text(claim.after if i in selected else claim.text)
        if i in selected and claim.after != claim.text:
            shown.append(f"\nwas: {claim.text}", style="dim")
        table.add_row(
            shown,
            f"{claim.confidence[centrality]:.2f}",
            {True: "yes", False: "no", None: "-"}[claim.boundary],
            verdict,
            "yes" if i in kept else "no",
        )
    console.print(table)


def line_words(line: AnswerVariant) -> str:
    """What kind of answer it is: "SimulRAG, at 100 % of the claims, m = 5"."""
    if line.method in MARKED:
        return method_name(line.method)
    share = "" if line.budget_percent is None else f", at {line.budget_percent:g} % of the claims"
    return f"{method_name(line.method)}{share}, m = {line.samples} sampled answers"
