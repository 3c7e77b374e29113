"""How an answer is shown wherever it is: its words and signs, as a notebook has it, as a frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, PackageLoader, Template

from simulators.registry import missing
from simulrag.errors import EnvironmentFault
from simulrag.marks import stretches
from simulrag.method.recipes import MARKED
from simulrag.records import Answer, Evidence, MissingPoint, Standing, Statement, claim_hash

if TYPE_CHECKING:
    import polars as pl


class Shown(NamedTuple):
    """How a standing reads: words, a sign that needs no colour, a colour.

    ``by``: what leads from the words to the runs that decided it; empty: no run does.
    """

    words: str
    sign: str
    colour: str
    by: str = ""


STANDINGS: dict[Standing, Shown] = {
    "checked": Shown("checked", "✓", "green", "by"),
    "corrected": Shown("corrected", "✎", "green", "by"),
    "added": Shown("added", "⊕", "green", "from"),
    "wrong": Shown("wrong", "✗", "red", "by"),
    "not_run": Shown("not run: a further run could decide it", "?", "yellow"),
    "judgement": Shown("a judgement: no run decides it", "◇", "dim"),
    "beyond": Shown("beyond the simulator", "∅", "dim"),
}
"""Every standing as readers see it. A colour is a style of the terminal, and one of COLOURS."""
COLOURS = {"green": "#1a7f37", "yellow": "#9a6700", "red": "#cf222e", "dim": "#6a737d"}
"""On a page's white, and legible on black."""
NO_PLACE = "Said as well, in words that are not found in the text"
"""What stands above such statements."""
LEFT_OUT = "The runs say as well"
"""And above what the text lacks."""


@dataclass(frozen=True)
class Ending:
    """The sign that stands behind a quote: a standing, and the runs (indices) that decided it."""

    standing: Standing
    runs: tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """Words of an answer with their weakest standing (None: nothing was said of them).

    ``words``: in words what stands behind them, a line a statement. ``runs``: indices of what
    decided them. ``endings``: the signs of the quotes that end with it.
    """

    text: str
    standing: Standing | None
    words: str
    runs: tuple[int, ...]
    endings: tuple[Ending, ...]


def is_marked(answer: Answer) -> bool:
    """Tell whether its text is marked statement by statement."""
    return answer.final.line.method in MARKED


def pieces(text: str, statements: Sequence[Statement]) -> list[Piece]:
    """Cut the whole text in order, marked as readers see it."""
    cut, end = [], 0
    for stretch in stretches(text, statements):
        end += len(stretch.text)
        over = [statements[at] for at in stretch.statements]
        words = dict.fromkeys(
            f"{STANDINGS[item.standing].sign} {statement_words(item)}" for item in over
        )
        endings = _endings([item for item in over if item.end == end])
        cut.append(Piece(stretch.text, stretch.standing, "\n".join(words), _runs(over), endings))
    return cut


def _endings(statements: Sequence[Statement]) -> tuple[Ending, ...]:
    standings = dict.fromkeys(item.standing for item in statements)
    return tuple(
        Ending(standing, _runs(item for item in statements if item.standing == standing))
        for standing in standings
    )


def _runs(statements: Iterable[Statement]) -> tuple[int, ...]:
    return tuple(sorted({run for item in statements for run in item.runs}))


def statement_words(item: Statement) -> str:
    """Say what stands behind a statement: "corrected by run 1 (said: It falls.)"."""
    words, _, _, by = STANDINGS[item.standing]
    if by and item.runs:
        words += f" {by} {run_words(item.runs)}"
    if item.before:
        words += f" (said: {item.before})"
    if item.correction:
        words += f": {'it says' if len(item.runs) == 1 else 'they say'} {item.correction}"
    return words


def run_words(runs: Sequence[int]) -> str:
    """Name runs by their numbers, counted from 1: "run 2", "runs 1 and 3", "runs 1, 2 and 3"."""
    *most, last = (str(run + 1) for run in runs)
    return f"runs {', '.join(most)} and {last}" if most else f"run {last}"


def legend(statements: Sequence[Statement]) -> list[tuple[Standing, str]]:
    """List the standings that occur, in the order of STANDINGS, each with what its sign means."""
    there = {item.standing for item in statements}
    return [
        (standing, f"{shown.words} {shown.by} a run" if shown.by else shown.words)
        for standing, shown in STANDINGS.items()
        if standing in there
    ]


def counted(statements: Sequence[Statement]) -> str:
    """Count the statements of each standing: "3 checked, 1 not run"."""
    counts = Counter(item.standing for item in statements)
    return ", ".join(
        f"{counts[standing]} {standing.replace('_', ' ')}"
        for standing in STANDINGS
        if standing in counts
    )


def unverified(answer: Answer, *, given: bool = False) -> str:
    """Say that no run stands behind an answer, or decides a text ``given``; else ""."""
    reason = ""
    if answer.retrieval is not None and answer.retrieval.status == "refused":
        reason = "; ".join(answer.retrieval.problems)
    if given and not answer.evidence:
        return f"Nothing was run: {reason or 'no run would decide a claim of this text'}."
    if given:
        decided = any(item.runs for item in answer.final.statements)
        return "" if decided else "The runs decide nothing that this text says."
    if answer.verified:
        return ""
    unasked = f"no call could be run: {reason}" if reason else "no tool applies and nothing was run"
    return f"Unverified: {'no claim was verified' if answer.evidence else unasked}."


def stands_without(answer: Answer) -> str:
    """Name the steps that only add, and failed; else ""."""
    failed = (f"{one.step.replace('_', ' ')} ({one.reason})" for one in answer.failed_steps)
    words = "; ".join(failed)
    return f"The answer stands without a step that failed: {words}." if words else ""


def without_place(answer: Answer) -> list[Statement]:
    """Find the statements that no words of the text can be marked for."""
    return [item for item in answer.final.statements if item.start is None]


def left_out(answer: Answer) -> tuple[MissingPoint, ...]:
    """Find what the question asks, the runs give and the text still lacks."""
    audit, final = answer.audit, answer.final
    if audit is None or not is_marked(answer) or audit.text != final.text:
        return ()
    return () if any(item.standing == "added" for item in final.statements) else audit.missing


_READ_IN = (("_mg", "kg", 1e6), ("_mg", "g", 1e3), ("_ml", "l", 1e3))
"""End of an output's name, which is its unit; a unit that people read; how many make one."""


def readable(evidence: Evidence) -> str:
    """Repeat a run's large outputs in units that people read: "co2 35.8 kg"; "" without any.

    Models are not shown it.
    """
    said: dict[str, str] = {}
    for name, value in evidence.outputs.items():
        for end, unit, many in _READ_IN:
            if name.endswith(end) and isinstance(value, int | float) and abs(value) >= many:
                words = name.removesuffix(end).replace("_", " ")
                said.setdefault(name, f"{words} {value / many:.3g} {unit}")
    return f"In other units: {', '.join(said.values())}." if said else ""


def claim_rows(answer: Answer) -> list[dict[str, Any]]:
    """Make a row a claim, with the columns of ``claims_frame``."""
    selected, kept = set(answer.final.selected), set(answer.final.kept)
    return [
        {
            "claim": at,
            "text_before": claim.text,
            "text_after": claim.after if at in selected else claim.text,
            **claim.confidence,
            "boundary": claim.boundary,
            "selected": at in selected,
            "verdict": claim.verdict.status if claim.verdict and at in selected else None,
            "kept": at in kept,
        }
        for at, claim in enumerate(answer.claims)
    ]


def claims_frame(answer: Answer) -> pl.DataFrame:
    """Frame the claims of an answer, named as in ``data/metrics/DOMAIN-claims.parquet``.

    A row a claim: ``claim`` (its index), ``text_before`` and ``text_after`` verification, a
    confidence a column (``closeness`` and the other centralities; 0 to 1), ``boundary`` (the
    simulator could check it), ``selected`` (the budget bought its verification), ``verdict`` and
    ``kept`` (the answer was written from it). Raises EnvironmentFault where polars is not
    installed.
    """
    try:
        import polars as pl
    except ImportError as error:
        raise EnvironmentFault(missing(error)) from None

    words, yes_or_no = pl.String(), pl.Boolean()
    confidences = dict.fromkeys(answer.claims[0].confidence if answer.claims else (), pl.Float64())
    schema = {
        **{"claim": pl.UInt32(), "text_before": words, "text_after": words},
        **confidences,
        **{"boundary": yes_or_no, "selected": yes_or_no, "verdict": words, "kept": yes_or_no},
    }
    return pl.DataFrame(claim_rows(answer), schema)


def as_html(
    answer: Answer, about: str, *, given: bool = False, colours: Mapping[str, str] = COLOURS
) -> str:
    """Write the text with its marks, what has no place in it, the claims and the evidence, as HTML.

    ``about``: a line on what it took. ``given``: a text of somebody's. ``colours``: as COLOURS, of
    the page that it stands on.
    """
    statements = answer.final.statements
    return _template().render(
        answer=answer,
        about=about,
        pieces=pieces(answer.text, statements),
        legend=legend(statements) if is_marked(answer) else [],
        unverified=unverified(answer, given=given),
        stands_without=stands_without(answer),
        without_place=without_place(answer),
        left_out=left_out(answer),
        corrected=[item for item in statements if item.before and item.start is not None],
        problems=answer.audit.problems if answer.audit else (),
        rows=[] if is_marked(answer) else claim_rows(answer),
        standings=STANDINGS,
        colours=colours,
        titles=(NO_PLACE, LEFT_OUT),
        told=statement_words,
        run_words=run_words,
        readable=readable,
        # A notebook holds several answers, whose runs are not the same.
        key=claim_hash(f"{answer.question_id} {answer.text}")[:8],
    )


@cache
def _template() -> Template:
    pages = Environment(
        loader=PackageLoader("simulrag", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return pages.get_template("answer.html.j2")
