"""An answer as a notebook shows it, and its claims as a frame."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, Template

from simulators.extras import missing
from simulrag.errors import EnvironmentFault
from simulrag.records import Answer, Standing

if TYPE_CHECKING:
    import polars as pl

STANDINGS: dict[Standing, tuple[str, str]] = {
    "checked": ("checked", "green"),
    "corrected": ("corrected", "green"),
    "simulated": ("from the simulator", "green"),
    "unchecked": ("not checked", "yellow"),
    "outside": ("outside the simulator's reach", "yellow"),
}
"""How a statement's standing reads, and its colour."""


def claim_rows(answer: Answer) -> list[dict[str, Any]]:
    """A row a claim, with the columns of ``claims_frame``."""
    selected, kept = set(answer.final.selected), set(answer.final.kept)
    standings = {item.claim: item.standing for item in answer.final.statements}
    return [
        {
            "claim": at,
            "text_before": claim.text,
            "text_after": claim.after if at in selected else claim.text,
            **claim.confidence,
            "boundary": claim.boundary,
            "selected": at in selected,
            "verdict": claim.verdict.status if claim.verdict and at in selected else None,
            "found": claim.verdict.found if claim.verdict and at in selected else None,
            "kept": at in kept,
            "standing": standings.get(at),
        }
        for at, claim in enumerate(answer.claims)
    ]


def claims_frame(answer: Answer) -> pl.DataFrame:
    """The claims of an answer, named as in ``data/metrics/DOMAIN-claims.parquet``.

    A row a claim: ``claim`` (its index), ``text_before`` and ``text_after`` verification, a
    confidence a column (``closeness`` and the other centralities, ``votes``; 0 to 1), ``boundary``
    (the simulator could check it; null: not asked), ``selected`` (the budget bought its
    verification), ``verdict``, ``found`` (what the evidence says of it), ``kept`` (the answer was
    written from it) and ``standing`` of the statement that it became. Raises EnvironmentFault
    where polars is not installed.
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
        **{"boundary": yes_or_no, "selected": yes_or_no, "verdict": words, "found": words},
        **{"kept": yes_or_no, "standing": words},
    }
    return pl.DataFrame(claim_rows(answer), schema)


def as_html(answer: Answer, about: str) -> str:
    """The text, each statement with its standing, the claims and the evidence, as HTML.

    ``about``: a line on what it took.
    """
    return _template().render(
        answer=answer,
        about=about,
        rows=claim_rows(answer),
        standings=STANDINGS,
        colours={"green": "#1a7f37", "yellow": "#9a6700"},
    )


@cache
def _template() -> Template:
    pages = Environment(
        loader=PackageLoader("simulrag", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return pages.get_template("answer.html.j2")
