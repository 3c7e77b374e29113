"""The recorded run: from its recorded answers and labels come the figures it was published with."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping

import polars as pl
import pytest

from flows.report.recipes import VariantSummary, pooled, recipes_of
from flows.report.run import DomainTable
from simulrag.metrics.families import measure
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import Measurement
from tests.recorded import ROOT, Replayed, data_of

OWN = ("urban", "climate", "epidemiology")
PUBLISHED = tuple(f"{domain}-published" for domain in OWN)

Tables = Mapping[str, tuple[Measurement, ...]]
"""The long table of each domain."""

AUROC = {
    ("no_rag", 0): ("0.821", "0.800", "0.769"),
    ("random", 25): ("0.912", "0.900", "0.909"),
    ("verbalized", 25): ("0.931", "0.936", "0.955"),
    ("uncertainty", 25): ("0.911", "0.899", "0.962"),
    ("ue_sba", 25): ("0.929", "0.959", "0.966"),
}


@pytest.fixture(scope="module")
def tables(replayed: Replayed) -> Tables:
    """With intervals from few resamples: no value hangs on them."""
    settings = MetricSettings(bootstrap=100)
    return {
        domain: tuple(measure(data_of(replayed, domain, settings)))
        for domain in replayed.params.domains
    }


def recipes(table: Iterable[Measurement]) -> dict[str, VariantSummary]:
    return {one.name: one for one in recipes_of(table, "excluded")}


def test_every_answer_is_measured(tables: Tables) -> None:
    names = {"closed book", "input RAG", "output RAG", "grounded", "paper 25 %", "paper 100 %"}
    names |= {"paper 25 %, m = 1", "paper 100 %, m = 1"}
    for domain in OWN:
        found = recipes(tables[domain])
        assert set(found) == names, "nobody looked twice by plan, so RAG by looks is left out"
        assert {one.questions for one in found.values()} == {15}


def test_what_an_answer_costs(tables: Tables) -> None:
    names = {"closed book": 1, "input RAG": 2, "output RAG": 3, "paper 100 %, m = 1": 6}
    grounded = {"urban": "3.7", "climate": "5.3", "epidemiology": "4.7"}
    for domain in OWN:
        found = recipes(tables[domain])
        assert {name: round(found[name].value("calls") or 0) for name in names} == names
        assert round(found["paper 100 %"].value("calls") or 0) == 23
        assert f"{found['grounded'].value('calls'):.1f}" == grounded[domain]


MARKS = {
    "checked": (263, 0, 88),
    "corrected": (0, 0, 9),
    "judgement": (1, 0, 59),
    "not_run": (0, 0, 12),
    "beyond": (0, 0, 255),
}
"""Statements of grounded answers to own questions: true, false, undecided."""


def counted(tables: Tables, domains: Iterable[str], standing: str) -> tuple[int, ...]:
    counts = dict.fromkeys(("true", "false", "undecided", "unlabelled"), 0)
    for row in (row for domain in domains for row in tables[domain] if row.family == "standings"):
        grounded = (row.method, row.level) == ("grounded", standing)
        if grounded and row.metric in counts:
            counts[row.metric] += int(row.value or 0)
    return tuple(counts.values())


@pytest.mark.parametrize("mark", MARKS)
def test_what_a_mark_is_worth(tables: Tables, mark: str) -> None:
    assert counted(tables, OWN, mark) == (*MARKS[mark], 0)
    assert counted(tables, OWN, "wrong") == counted(tables, OWN, "added") == (0, 0, 0, 0)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    true, false, undecided = MARKS[mark]
    assert f"| {sum(MARKS[mark])} | {true} | {false} | {undecided} |" in readme


def test_published_evidence_and_reference_disagree_in_climate(tables: Tables) -> None:
    true, false, *_ = counted(tables, PUBLISHED, "checked")
    assert (true, false) == (36, 6)
    assert counted(tables, ["climate-published"], "checked")[1] == 6


@pytest.mark.parametrize("line", AUROC, ids=lambda line: f"{line[0]}-{line[1]}")
def test_how_well_claims_are_ranked(tables: Tables, line: tuple[str, int]) -> None:
    where = {"method": line[0], "budget_percent": line[1], "undecided": "excluded"}
    found = [
        DomainTable.of(domain, tables[domain]).one(
            "claims", "auroc", centrality="closeness", **where
        )
        for domain in OWN
    ]
    assert tuple(f"{row.value:.3f}" for row in found if row is not None) == AUROC[line]


SEARCHES = {
    "closed book": (("0.47", "0.29", "0.25"), ("0.12", "0.18", "0.11")),
    "input RAG": (("0.93", "0.74", "0.74"), ("0.59", "0.70", "0.70")),
    "paper 100 %, m = 1": (("0.93", "0.94", "0.67"), ("0.33", "0.35", "0.30")),
    "RAG by looks": (("1.00", "1.00", "1.00"), ("0.71", "1.00", "1.00")),
    "grounded": (("1.00", "1.00", "1.00"), ("0.71", "1.00", "1.00")),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_where_one_look_cannot_answer(tables: Tables, name: str) -> None:
    found = [recipes(tables[f"{domain}-search"])[name] for domain in OWN]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    cells = []
    for metric, values in zip(("factuality", "completeness"), SEARCHES[name], strict=True):
        assert tuple(f"{recipe.value(metric):.2f}" for recipe in found) == values
        cells.append(", ".join(values))
    assert f"| {cells[0]} | {cells[1]} |" in readme
    runs = [f"{recipe.value('simulator_runs'):.1f}" for recipe in found]
    shown = runs[0] if len(set(runs)) == 1 else ", ".join(runs)
    assert f"| {shown} |" in readme


def test_the_marks_of_searches(tables: Tables) -> None:
    domains = [f"{domain}-search" for domain in OWN]
    assert counted(tables, domains, "checked") == (126, 0, 71, 0)
    assert counted(tables, domains, "corrected") == (0, 0, 1, 0)


FORESIGHT = {
    ("all", "auroc", "closeness"): ("0.821", "0.800", "0.769"),
    ("all", "auroc", "verbalized"): ("0.895", "0.879", "0.840"),
    ("all", "auroc_gain", "verbalized"): ("0.074", "0.079", "0.072"),
    ("number", "auroc", "closeness"): ("0.755", "0.770", "0.608"),
    ("number", "auroc", "verbalized"): ("0.863", "0.855", "0.758"),
    ("number", "auroc_gain", "verbalized"): ("0.108", "0.084", "0.150"),
    ("other", "auroc", "closeness"): ("0.750", "0.737", "0.916"),
    ("other", "auroc", "verbalized"): ("0.751", "0.837", "0.954"),
    ("other", "auroc_gain", "verbalized"): ("0.001", "0.100", "0.038"),
}


@pytest.mark.parametrize("line", FORESIGHT, ids="-".join)
def test_what_ranks_claims_before_verification(tables: Tables, line: tuple[str, ...]) -> None:
    level, metric, centrality = line
    found = [
        DomainTable.of(domain, tables[domain]).one(
            "foresight", metric, level=level, centrality=centrality
        )
        for domain in OWN
    ]
    assert tuple(f"{row.value:.3f}" for row in found if row is not None) == FORESIGHT[line]
    words = {"auroc_gain": "gain", "auroc": "stated" if centrality == "verbalized" else "agreement"}
    page = (ROOT / "docs/how-it-works.md").read_text(encoding="utf-8")
    lines = [row for row in page.splitlines() if row.startswith("| ") and words[metric] in row]
    assert any(all(value in row for value in FORESIGHT[line]) for row in lines)


def test_what_planted_errors_and_scitab_say_stands_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    with (ROOT / "studies/planted/table.csv").open(encoding="utf-8", newline="") as file:
        rows = {
            (row["what"], row["texts"]): row
            for row in csv.DictReader(file)
            if (row["kind"], row["domain"]) == ("all", "all")
        }
    for texts, low in (("plain", "0.96"), ("harder", "0.95")):
        found, corrected = rows["found", texts], rows["corrected", texts]
        assert f"| {found['of']} | {found['count']} | {corrected['count']}, " in readme
        assert f"{float(corrected['lower_95']):.2f}" == low
        assert f"[{low}, 1.00] |" in readme
    alarms = [row for (what, _), row in rows.items() if what == "false alarms"]
    assert sum(int(row["count"]) for row in alarms) == 0
    assert (
        f"Of {sum(int(row['of']) for row in alarms):,} claims in which no error was planted"
        in readme
    )
    scitab = (ROOT / "studies/scitab/table.md").read_text(encoding="utf-8")
    assert "| the audit | 0.794 [0.72, 0.85] | 0.745 [0.65, 0.80] |" in scitab
    assert "macro-F1 0.79 [0.72, 0.85] of two classes and 0.75 [0.65, 0.80] of three" in readme
    page = (ROOT / "docs/trust-which-number.md").read_text(encoding="utf-8")
    assert "| supports | 25 | 2 | 18 | 5 |" in scitab
    assert "| refutes | 2 | 46 | 2 | 0 |" in scitab
    assert "| not enough info | 2 | 6 | 42 | 0 |" in scitab
    assert "| 25, 46 and 42 of them as the experts |" in page
    assert "0.75 [0.65, 0.80], of two 0.79 [0.72, 0.85]" in page


def test_the_recording_counts_its_replies() -> None:
    page = (ROOT / "data/recorded/RECORDED.md").read_text(encoding="utf-8")
    counts: dict[str, list[int]] = {}
    for file in sorted((ROOT / "data/recorded").glob("*.parquet")):
        replies = pl.read_parquet(file).filter(pl.col("kind") == "model")
        kind = re.split("[_-]", file.stem)[0]
        total = counts.setdefault(kind, [0, 0])
        total[0] += len(replies)
        total[1] += int((replies["context"] != "").sum())
    for kind, (replies, named) in counts.items():
        assert f"| {kind} | {replies:,} | {named} |" in page


def test_grounded_less_what_stands_beside_it(tables: Tables) -> None:
    for undecided, baseline, values in (
        ("excluded", "simulrag", ("+0.05", "+0.01", "+0.01")),
        ("false", "input_rag", ("+0.00", "-0.01", "-0.02")),
    ):
        found = [
            DomainTable.of(domain, tables[domain]).one(
                "comparisons",
                "factuality",
                **{"method": "grounded", "baseline": baseline, "undecided": undecided},
                unit="difference",
            )
            for domain in OWN
        ]
        assert tuple(f"{row.value:+.2f}" for row in found if row is not None) == values


def test_the_published_questions_together(tables: Tables) -> None:
    """True claims a question, and the share of all of them that is true: no mean of shares."""
    found = {
        one.name: one
        for one in pooled([list(recipes(tables[name]).values()) for name in PUBLISHED])
    }
    names = ("closed book", "input RAG", "grounded", "paper 25 %", "paper 100 %")
    assert {name: f"{found[name].value('factuality'):.2f}" for name in names} == {
        **{"closed book": "0.44", "input RAG": "0.87", "grounded": "0.87"},
        **{"paper 25 %": "0.73", "paper 100 %": "0.79"},
    }
    assert {one.questions for one in found.values()} == {12}


@pytest.mark.parametrize("domain", [*OWN, *PUBLISHED])
def test_only_the_published_questions_were_answered_by_an_oracle(
    tables: Tables, domain: str
) -> None:
    found = DomainTable.of(domain, tables[domain])
    assert found.oracle == (domain in PUBLISHED)
    assert found.count("with_evidence") == found.count("completed")
