"""A page of verdicts on the same claims: by a model's reading, by point and by range."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from simulrag.method.checking import Rule
from simulrag.records import LabelValue, Verdict, VerdictStatus
from simulrag.report.blocks import DASH, Table, percent
from simulrag.report.labels import WANTED
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
class RuleVerdicts:
    """A domain's verdicts by rule, one a claim; None where a reply is not stored.

    ``kinds``: what each claim says, as it was read; ``labels``: by the judge, None where there is
    none. ``requests`` and ``tokens`` of the prompts that are missing for it, estimated from their
    text.
    """

    domain: str
    verdicts: dict[str, list[Verdict | None]] = field(
        default_factory=lambda: {name: [] for name in COLUMNS}
    )
    claims: list[str] = field(default_factory=list)
    kinds: list[str | None] = field(default_factory=list)
    labels: list[LabelValue | None] = field(default_factory=list)
    requests: int = 0
    tokens: int = 0

    def take(self, other: RuleVerdicts) -> None:
        """Another domain's, behind its own."""
        for name in COLUMNS:
            self.verdicts[name] += other.verdicts[name]
        self.claims += other.claims
        self.kinds += other.kinds
        self.labels += other.labels
        self.requests += other.requests
        self.tokens += other.tokens

    @property
    def waiting(self) -> str:
        """How many claims there are, and why a rule has no verdict."""
        told = f"{len(self.verdicts['model'])} claims"
        if not self.requests:
            return told
        return (
            f"{told}; by point and by range {self.requests} requests of read_claims, about "
            f"{self.tokens:,} tokens, have no stored reply"
        )


def page(domains: Sequence[RuleVerdicts], cases: Sequence[Case]) -> str:
    """The page as Markdown."""
    whole = RuleVerdicts("all domains")
    for one in domains:
        whole.take(one)
    parts = [
        "# Verdicts by three rules",
        "By model: a model compares the claim with the evidence's text. By point and by range it "
        "only says which output a claim is about, and arithmetic compares. To have its requests "
        "written, set `answer.verify_by: range` and `operations.mode: deferred`; one reply serves "
        "both rules.",
        *(markdown(_counts(one)) for one in (*domains, whole)),
        markdown(_right(whole)),
        markdown(_differing(whole)),
        markdown(_by_hand(cases)),
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _counts(judged: RuleVerdicts) -> Table:
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
        rows.append((name, f"{len(given)} of {len(model)}", *shown, percent(differ)))
    return Table(
        name="verdicts",
        caption=f"{judged.domain}: verdicts on the stored claims",
        columns=("by", "claims", *get_args(VerdictStatus), "differs from the model"),
        rows=tuple(rows),
        headers=1,
        notes=(f"{judged.waiting}.",),
    )


def _right(judged: RuleVerdicts) -> Table:
    """By kind of claim: how many each rule decides, and how many of those as the label says."""
    found: dict[str, Counter[str]] = {}
    for kind, label, model, point in _labelled(judged):
        counts = found.setdefault(kind, Counter())
        counts["claims"] += 1
        for name, verdict in (("model", model), ("point", point)):
            counts[f"{name} decides"] += verdict.status in WANTED.values()
            counts[f"{name} right"] += verdict.status == WANTED[label]
        if model.status != point.status and "indeterminate" not in (model.status, point.status):
            counts["differ"] += 1
            counts["model is right"] += model.status == WANTED[label]
    columns = (
        *("claims", "model decides", "model right", "point decides", "point right"),
        *("differ", "model is right"),
    )
    rows = [
        (kind, *(str(counts[name]) for name in columns)) for kind, counts in sorted(found.items())
    ]
    total = sum(found.values(), Counter[str]())
    rows.append(("all", *(str(total[name]) for name in columns)))
    return Table(
        name="right",
        caption="Claims that the reference decides, by what they say: who decides, who is right",
        columns=("kind", *columns),
        rows=tuple(rows),
        headers=1,
        notes=("differ: both decide, and not alike.",),
    )


def _differing(judged: RuleVerdicts) -> Table:
    """Each claim that reading and arithmetic decide differently."""
    rows = []
    places = zip(judged.claims, judged.kinds, judged.labels, strict=True)
    for at, (claim, kind, label) in enumerate(places):
        model, point = judged.verdicts["model"][at], judged.verdicts["point"][at]
        if model is None or point is None or model.status == point.status:
            continue
        if {model.status, point.status} <= set(WANTED.values()):
            told = (kind or DASH, model.status, point.status, point.found or DASH, label or DASH)
            rows.append((claim, *told))
    return Table(
        name="differing",
        caption="Claims that reading and arithmetic decide differently",
        columns=("claim", "kind", "model", "point", "the simulator's value", "label"),
        rows=tuple(rows),
        headers=1,
    )


def _labelled(judged: RuleVerdicts) -> Iterator[tuple[str, str, Verdict, Verdict]]:
    """Kind, label and the two verdicts of each claim that the reference decides."""
    model, point = judged.verdicts["model"], judged.verdicts["point"]
    for kind, label, read, compared in zip(judged.kinds, judged.labels, model, point, strict=True):
        if kind is not None and label in WANTED and read is not None and compared is not None:
            yield kind, label, read, compared


def _by_hand(cases: Sequence[Case]) -> Table:
    def told(rule: str) -> str:
        right = sum(one.verdicts[rule].status == one.expected[rule] for one in cases)
        differ = sum(one.verdicts[rule].status != one.verdicts["model"].status for one in cases)
        return f"By {rule}: {right} of {len(cases)} are as expected, {differ} differ from the model"

    rows = []
    for one in cases:
        given = [one.verdicts[name] for name in COLUMNS]
        why = given[-1].found or given[-1].reason or DASH
        rows.append((one.case, one.claim, *(verdict.status for verdict in given), why))
    return Table(
        name="by-hand",
        caption=f"{len(cases)} claims and a model's replies, written by hand",
        columns=("case", "claim", *COLUMNS, "the simulator's value and 90 % range"),
        rows=tuple(rows),
        notes=tuple(f"{told(rule)}." for rule in RULES),
    )
