"""What a report is written from: the long tables by domain, and what was run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from flows.watch.tracking import little_checked
from simulrag.judging.people import Key, Settled
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import Measurement, read_table, rows_of

if TYPE_CHECKING:
    import polars as pl


class RunSummary(BaseModel):
    """What was run, for the first screen.

    ``models``: a line a role, such as {"answer": "openai: gpt-5-mini"}. ``replayed``: the roles
    whose calls were only replayed; ``recorded``: how those were recorded, as Markdown.
    ``params_hash`` names the values of domains, models, answer and metrics.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: dict[str, str] = {}
    replayed: tuple[str, ...] = ()
    simulators: dict[str, str] = {}
    params_hash: str | None = None
    recorded: str = ""

    @property
    def told(self) -> str:
        """The models in one line, each once, and which of them were only replayed."""
        roles = {
            model: {r for r, one in self.models.items() if one == model}
            for model in self.models.values()
        }
        if self.models and set(self.models) <= set(self.replayed):
            return f"{', '.join(roles)}, replayed from recorded calls"
        return ", ".join(
            f"{model} (replayed from recorded calls)" if named <= set(self.replayed) else model
            for model, named in roles.items()
        )


@dataclass(frozen=True)
class DomainTable:
    """The long table of one domain: its rows by family and metric, each in the table's order."""

    name: str
    families: Mapping[str, Mapping[str, tuple[Measurement, ...]]]

    @classmethod
    def of(cls, name: str, rows: Iterable[Measurement]) -> DomainTable:
        """Make the table of a domain from its rows."""
        families: dict[str, dict[str, list[Measurement]]] = {}
        for row in rows:
            families.setdefault(row.family, {}).setdefault(row.metric, []).append(row)
        return cls(
            name,
            {
                family: {metric: tuple(labels) for metric, labels in metrics.items()}
                for family, metrics in families.items()
            },
        )

    @property
    def title(self) -> str:
        """The name with a capital, to begin a sentence with."""
        return self.name[:1].upper() + self.name[1:]

    def rows(self, family: str, metric: str = "", **where: object) -> list[Measurement]:
        """Find a family's rows with this metric ("": all, in turn) and these values of fields.

        A tuple stands for any of its values: ``rows("claims", method=("no_rag", "all_rag"))``.
        """
        metrics = self.families.get(family, {})
        found: Iterable[Measurement] = (
            metrics.get(metric, ()) if metric else chain.from_iterable(metrics.values())
        )
        for name, wanted in where.items():
            if isinstance(wanted, tuple):
                found = [row for row in found if row.get(name) in wanted]
            else:
                found = [row for row in found if row.get(name) == wanted]
        return list(found)

    def one(self, family: str, metric: str = "", **where: object) -> Measurement | None:
        """Find the first such row."""
        return next(iter(self.rows(family, metric, **where)), None)

    @property
    def oracle(self) -> bool:
        """Whether every complete question was answered from published evidence."""
        completed = self.count("completed")
        return completed > 0 and self.count("replayed") == completed

    def covered(self, share: float | None) -> float | None:
        """Limit a share of questions to that of the questions answered with evidence."""
        questions = self.count("questions")
        if share is None or not questions:
            return share
        return min(share, self.count("with_evidence") / questions)

    def little_checked(self, least: float) -> str:
        """Warn where a smaller share was answered, or checked by evidence; else ""."""
        with_evidence, completed = self.count("with_evidence"), self.count("completed")
        words = little_checked(self.count("checked"), with_evidence, completed, least)
        asked = self.count("questions")
        lost = f"{asked - completed} of {asked} questions have no answer"
        return "; ".join(filter(None, (lost if completed < least * asked else "", words)))

    def count(self, metric: str) -> int:
        """Return a whole number of the family ``coverage``, 0 where it is not there."""
        row = self.one("coverage", metric=metric)
        return 0 if row is None or row.value is None else round(row.value)


def read_domains(folder: Path, names: Iterable[str]) -> tuple[DomainTable, ...]:
    """Read the long tables of domains, ``folder/NAME.csv``; raises InputError as ``read_table``."""
    return tuple(
        DomainTable.of(name, rows_of(read_table(folder / f"{name}.csv"))) for name in names
    )


@dataclass(frozen=True)
class LabelledByPeople:
    """A claim that people labelled: what they settled on and how, and what the judge had said."""

    question_id: str
    text: str
    human: str
    how: str
    judge: str
    said: str


Credits = Mapping[tuple[str, ...], tuple[int, int]]
"""By document, who is to be credited and licence: its passages that were shown, its questions."""


@dataclass(frozen=True)
class ReportedRun:
    """All that the sections draw on. ``published``: the paper's tables by their number.

    ``history``: of a refresh, the rows of its history.csv, oldest first. ``people``: by domain, the
    claims that people labelled. ``rooms``: by name, what each room shows. ``credits``: by domain.
    ``min_coverage``: the share of answers with evidence below which the page warns.
    """

    settings: MetricSettings
    domains: tuple[DomainTable, ...]
    summary: RunSummary = field(default_factory=RunSummary)
    published: Mapping[int, pl.DataFrame] = field(default_factory=dict)
    people: Mapping[str, tuple[LabelledByPeople, ...]] = field(default_factory=dict)
    rooms: Mapping[str, Any] = field(default_factory=dict)
    credits: Mapping[str, Credits] = field(default_factory=dict)
    min_coverage: float = 1.0
    history: Sequence[Mapping[str, str]] = ()

    @property
    def own_and_published(self) -> tuple[list[DomainTable], list[DomainTable]]:
        """The domains, those that only look up published evidence apart from the others.

        Where there are no others, they are all there is to show.
        """
        published = [domain for domain in self.domains if domain.oracle]
        own = [domain for domain in self.domains if not domain.oracle]
        return (own, published) if own else (published, [])

    @property
    def leading(self) -> dict[str, str]:
        """Where a table has variants: the ones that sentences and figures speak of."""
        return {"centrality": self.settings.centrality, "undecided": self.settings.undecided}


@dataclass(frozen=True)
class Judged:
    """What was said of a claim text: its label ("missing" where nobody gave one), and why."""

    label: str
    reason: str


class LabelTable:
    """A domain's labels question by question: the judge's, and what people settled on.

    ``judge``: the table of labels; ``people``: by question and claim.
    """

    def __init__(self, judge: pl.DataFrame, people: Mapping[Key, Settled]) -> None:
        rows = judge.select("question_id", "claim_hash", "label", "reason", "failure")
        self._judged = rows.rows_by_key("question_id")
        self._people: dict[str, dict[str, Settled]] = {}
        for (question, claim), settled in people.items():
            self._people.setdefault(question, {})[claim] = settled

    def of(self, question_id: str) -> dict[str, Judged]:
        """Return the labels of a question's claim texts, by claim hash."""
        labels = self._by_judge(question_id)
        for claim, settled in self._people.get(question_id, {}).items():
            label = settled.as_label()
            labels[claim] = Judged(str(label.label), f"by people: {label.reason}")
        return labels

    def by_people(self, question_id: str) -> list[LabelledByPeople]:
        """List the question's claims that people labelled, with the judge's word on them."""
        judged = self._by_judge(question_id)
        return [
            LabelledByPeople(
                question_id=question_id,
                text=settled.first.text,
                human=settled.label,
                how=settled.how,
                judge=judged[claim].label if claim in judged else "",
                said=settled.as_label().reason,
            )
            for claim, settled in self._people.get(question_id, {}).items()
        ]

    def _by_judge(self, question_id: str) -> dict[str, Judged]:
        return {
            claim: Judged("missing", failure or "the judge failed")
            if label is None
            else Judged(label, reason or "")
            for claim, label, reason, failure in self._judged.get(question_id, ())
        }
