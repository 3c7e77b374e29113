"""A page of verdicts on the same claims: by a model's reading, by point and by range."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from simulrag.method.checking import Rule
from simulrag.records import Verdict, VerdictStatus
from simulrag.report.blocks import DASH, Table, percent
from simulrag.report.table_files import markdown

RULES: tuple[Rule, ...] = get_args(Rule)
COLUMNS = ("model", *RULES)


@dataclass(frozen=True)
class Case:
    """A claim written by hand: what it tries, its verdict by each rule, and the expected ones."""

    case: str
    claim: str
    verdicts: Mapping[str, Verdict]
    expected: Mapping[str, str]


@dataclass
class Judged:
    """The claims of a domain and their verdicts by rule; None where a reply is not stored.

    ``requests`` and ``tokens`` of the prompts that are missing for it, estimated from their text.
    """

    domain: str
    claims: list[str] = field(default_factory=list)
    verdicts: dict[str, list[Verdict | None]] = field(
        default_factory=lambda: {name: [] for name in COLUMNS}
    )
    requests: int = 0
    tokens: int = 0

    def add(self, claims: Sequence[str], verdicts: Mapping[str, Sequence[Verdict | None]]) -> None:
        """The claims of one question."""
        self.claims += claims
        for name in COLUMNS:
            self.verdicts[name] += verdicts[name]

    def note(self, missing: Mapping[str, int]) -> None:
        """The requests that are not stored, by key, with the tokens of their prompts."""
        self.requests, self.tokens = len(missing), sum(missing.values())

    @property
    def waiting(self) -> str:
        """Why a rule has no verdict; "" where all have."""
        if not self.requests:
            return ""
        return (
            f"{self.requests} requests of read_claims, about {self.tokens:,} tokens, have no "
            "stored reply: by point and by range nothing is known"
        )


def page(domains: Sequence[Judged], cases: Sequence[Case]) -> str:
    """The page as Markdown."""
    parts = ["# Verdicts by three rules", *_told(domains)]
    parts += [markdown(_counts(one)) for one in domains]
    parts += ["## Claims written by hand", markdown(_by_hand(cases))]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _told(domains: Sequence[Judged]) -> Iterator[str]:
    yield (
        "By model: a model compares the claim with the evidence's text. By point and by range it "
        "only says which output a claim is about, and arithmetic compares."
    )
    requests = sum(one.requests for one in domains)
    if requests:
        claims, tokens = sum(len(one.claims) for one in domains), sum(one.tokens for one in domains)
        yield (
            f"Of the {claims} claims, by point and by range wait for {requests} requests of "
            f"read_claims (about {tokens:,} tokens of prompts): `answer.verify_by: range` with "
            "`operations.mode: deferred` writes them, and one reply serves both rules."
        )


def _counts(judged: Judged) -> Table:
    """Verdicts by rule, and how often arithmetic and the model's reading differ."""
    rows = []
    model = judged.verdicts["model"]
    for name in COLUMNS:
        given = [one for one in judged.verdicts[name] if one is not None]
        counts = Counter(one.status for one in given)
        pairs = zip(model, judged.verdicts[name], strict=True)
        both = [(a.status, b.status) for a, b in pairs if a is not None and b is not None]
        differ = sum(a != b for a, b in both) / len(both) if both and name != "model" else None
        shown = [str(counts[status]) if given else DASH for status in get_args(VerdictStatus)]
        rows.append((name, f"{len(given)} of {len(judged.claims)}", *shown, percent(differ)))
    return Table(
        name="verdicts",
        caption=f"{judged.domain}: verdicts on the stored claims",
        columns=("by", "claims", *get_args(VerdictStatus), "differs from the model"),
        rows=tuple(rows),
        headers=1,
        notes=(f"{judged.waiting}.",) if judged.waiting else (),
    )


def _by_hand(cases: Sequence[Case]) -> Table:
    right = {
        rule: sum(one.verdicts[rule].status == one.expected[rule] for one in cases)
        for rule in RULES
    }
    differ = {
        rule: sum(one.verdicts[rule].status != one.verdicts["model"].status for one in cases)
        for rule in RULES
    }
    return Table(
        name="by-hand",
        caption=f"{len(cases)} claims with the replies of a model written by hand",
        columns=("case", "claim", *COLUMNS, "the simulator's value and 90 % range"),
        rows=tuple(
            (
                one.case,
                one.claim,
                *(one.verdicts[name].status for name in COLUMNS),
                one.verdicts["range"].found or one.verdicts["range"].reason or DASH,
            )
            for one in cases
        ),
        notes=tuple(
            f"By {rule}: {right[rule]} of {len(cases)} are as expected, {differ[rule]} differ from "
            "the model's reading."
            for rule in RULES
        ),
    )
