"""What attribution found, as records: read by the stage, the report and `ask --why`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from rooms.attribution.sources import FourChances, Shares, Support
from simulrag.records import Domain, Record, Usage

if TYPE_CHECKING:
    from flows.project import Results

Estimator = Literal["by_source", "leave_one_out", "alone", "shapley", "rerun"]


class ItemValue(Record):
    """What one item does for a claim. ``value`` None: see ``failure``.

    ``left_out``: beside a Shapley value, all evidence less all but the item, where it was asked.
    """

    item: str
    value: float | None
    standard_error: float = 0.0
    left_out: float | None = None
    failure: str | None = None


class ClaimSupport(Record):
    """What one claim, as it was drafted, stands on.

    ``support`` None: a condition has no value, for the reason in ``failure``. ``conditions`` None
    with a ``support``: there was no evidence, so nothing supports it and nothing was asked.
    """

    claim_hash: str
    text: str
    support: Support | None
    conditions: FourChances | None = None
    shares: Shares | None = None
    items: tuple[ItemValue, ...] = ()
    failure: str | None = None


class Attribution(Record):
    """What the claims of one question stand on. ``estimator``: whose values the items have."""

    question_id: str
    domain: Domain
    estimator: Estimator
    chances: str
    claims: tuple[ClaimSupport, ...] = ()
    sources: tuple[str, ...] = ()
    usage: dict[str, Usage] = Field(default={})
    failure: str | None = None


def planted_file(place: Results, domain: str) -> Path:
    """Whether shares fell to what was planted."""
    return place.data / "attribution" / f"{domain}-planted.jsonl"


def file_of(place: Results, domain: str) -> Path:
    """What the claims of a domain's answers stand on."""
    return place.data / "attribution" / f"{domain}.jsonl"
