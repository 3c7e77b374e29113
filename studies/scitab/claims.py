"""The claims with their tables: ``python -m studies.scitab.claims FILE`` draws them anew.

FILE is SciTab's claims as published (a JSON list).
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from random import Random
from typing import Literal, get_args

from flows.files import write_records
from simulrag.records import Record
from studies.audits import AuditedText

FOLDER = Path(__file__).parent
CLAIMS = FOLDER / "claims.jsonl"
SEED, PER_LABEL = 38, 50
QUESTION = "What does the table show?"
ClaimLabel = Literal["supports", "refutes", "not enough info"]
LABELS: tuple[ClaimLabel, ...] = get_args(ClaimLabel)
_MARKUP = re.compile(r"\[(?:BOLD|ITALIC|CONTINUE)\]|</?(?:bold|italic|ref)\b[^>]*>")


class TableClaim(Record):
    """A claim, the table that it speaks of, and what experts say of it. Fields as published."""

    id: str
    paper: str
    paper_id: str
    table_id: str
    table_caption: str
    table_column_names: tuple[str, ...]
    table_content_values: tuple[tuple[str, ...], ...]
    claim: str
    label: ClaimLabel


def plain(text: str) -> str:
    """Drop the marks of type and of continued sentences; an empty cell is a dash."""
    return " ".join(_MARKUP.sub(" ", text).replace("[EMPTY]", "-").split())


def table_text(claim: TableClaim) -> str:
    """Write caption and table as plain text, a line a row."""
    rows = (claim.table_column_names, *claim.table_content_values)
    lines = (" | ".join(plain(cell) for cell in row) for row in rows)
    return "\n".join([plain(claim.table_caption), *lines])


def audited_text(claim: TableClaim) -> AuditedText:
    """Put a claim as a text, and its table as the one run. No label is in it."""
    return AuditedText(
        name=claim.id, question=QUESTION, text=plain(claim.claim), evidence=(table_text(claim),)
    )


def draw(path: Path) -> list[TableClaim]:
    """Draw 50 claims a label, in the order of their ids."""
    claims = [TableClaim.model_validate(item) for item in json.loads(path.read_bytes())]
    claims.sort(key=lambda claim: claim.id)
    rng = Random(SEED)  # noqa: S311 no secret
    drawn = [
        claim
        for label in LABELS
        for claim in rng.sample([item for item in claims if item.label == label], PER_LABEL)
    ]
    return sorted(drawn, key=lambda claim: claim.id)


if __name__ == "__main__":
    write_records(CLAIMS, draw(Path(sys.argv[1])))
