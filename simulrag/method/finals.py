"""The final answers that an answer's choices make, and those of other methods beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulrag.method.baselines import FinalWay, baseline_ways, final_texts, first_sample_way
from simulrag.method.selection import keep
from simulrag.method.settings import MethodSettings
from simulrag.method.statements import statements_of, uncovered_claims, write_reconciled
from simulrag.method.synthesis import synthesize
from simulrag.models.base import Asker
from simulrag.records import DECIDED, Answer, Choice, FinalText, Statement


@dataclass(frozen=True)
class Line:
    """One final answer that is to be written: what is known of it, and the choice behind it."""

    about: FinalText
    choice: Choice


def lines_of(answer: Answer, choices: Sequence[Choice], settings: MethodSettings) -> list[Line]:
    """A line a choice; the last one is the answer.

    Completed, it stands beside itself without what the completion adds, among the baselines.
    """
    lines = [
        Line(
            FinalText(
                method=choice.method,
                samples=len(answer.closed_book),
                budget_percent=choice.budget_percent,
                kappa=choice.kappa,
                selected=choice.selected,
            ),
            choice,
        )
        for choice in choices
    ]
    last = lines[-1]
    if settings.complete and last.about.method == "reconciled":
        about = last.about.model_copy(update={"method": "reconciled_complete"})
        lines = [*(lines if settings.baselines else lines[:-1]), Line(about, last.choice)]
    return lines


async def write_line(
    question: str, answer: Answer, line: Line, settings: MethodSettings, ask: Asker
) -> FinalText:
    """The final answer of one line. ``answer`` is verified. Raises ModelError."""
    about, choice = line.about, line.choice
    if about.method == "simulrag":
        kept = keep(answer.claims, choice.selected, choice.kappa, settings.centrality)
        claims, chosen = answer.claims, set(choice.selected)
        if settings.verify_by in ("model", "both"):
            texts = [claims[i].updated_text if i in chosen else claims[i].text for i in kept]
        else:
            texts = [claims[i].told if i in chosen else claims[i].text for i in kept]
            sure = {i for i in chosen if (v := claims[i].verdict) and v.status in DECIDED}
            pairs = zip(kept, texts, strict=True)
            texts = [text if i in sure else f"{text} (not checked)" for i, text in pairs]
        text = await synthesize(question, tuple(dict.fromkeys(texts)), ask)
        return about.model_copy(update={"text": text, "kept": kept})
    statements = statements_of(answer, choice)
    context = answer.retrieval.context if answer.retrieval is not None else ""
    if about.method == "reconciled_complete" and context:
        said = [statement.text for statement in statements]
        found = await uncovered_claims(question, context, said, ask)
        statements += tuple(Statement(text=text, standing="simulated") for text in found)
    text = await write_reconciled(question, statements, ask)
    kept = tuple(sorted(item.claim for item in statements if item.claim is not None))
    return about.model_copy(update={"text": text, "kept": kept, "statements": statements})


async def texts_beside(
    question: str, answer: Answer, lines: Sequence[Line], settings: MethodSettings, ask: Asker
) -> tuple[FinalText, ...]:
    """The lines before the last and, where asked for, answers of one sample and other methods.

    Their calls are counted in each text, not in the answer's own usage.
    """
    ways: list[FinalWay] = []
    if settings.baselines:
        ways += baseline_ways(question, answer, settings)
        published = [line for line in lines if line.about.method == "simulrag"]
        kappa = max((line.choice.kappa for line in published), default=0.0)
        ways += [
            way
            for line in reversed(published)
            if line.choice.kappa == kappa  # at m = 1 it drops nothing
            for way in first_sample_way(question, answer, line.choice)
        ]
    for line in lines[-2::-1]:

        async def written(own: Asker, line: Line = line) -> FinalText:
            return await write_line(question, answer, line, settings, own)

        ways.append(FinalWay(line.about, written))
    return await final_texts(ways, ask)
