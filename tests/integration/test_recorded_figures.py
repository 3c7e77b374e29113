"""The recorded run: from its recorded answers and labels come the figures it was published with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from simulrag.metrics.recipes import Recipe, pooled, recipes_of
from simulrag.metrics.registry import measure
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import Measurement
from simulrag.report.run import DomainTable
from tests.recorded import Replayed, data_of

OWN = ("urban", "climate", "epidemiology")
PUBLISHED = tuple(f"{domain}-published" for domain in OWN)

Tables = Mapping[str, tuple[Measurement, ...]]
"""The long table of each domain."""

RECIPES: dict[str, tuple[str, ...]] = {
    "closed book": (
        "4.8, 0.48, 0.21; 0.0; 0.0",
        "3.0, 0.52, 0.15; 0.0; 0.0",
        "2.7, 0.46, 0.07; 0.0; 0.1",
    ),
    "paper 100 %, m = 1": (
        "8.7, 0.96, 0.94; 7.9; 0.1",
        "5.5, 1.00, 0.98; 6.1; 0.0",
        "5.5, 0.92, 0.87; 5.9; 0.1",
    ),
    "paper 25 %": (
        "8.3, 0.82, 0.93; 6.5; 0.3",
        "4.9, 0.89, 0.88; 6.9; 0.2",
        "5.7, 0.88, 0.84; 8.2; 0.5",
    ),
    "reconciled 25 %": (
        "7.6, 0.88, 0.82; 6.1; 0.1",
        "5.4, 0.99, 1.00; 6.0; 0.0",
        "5.3, 0.98, 0.96; 6.5; 0.0",
    ),
    "paper 100 %": (
        "9.5, 0.96, 1.00; 16.3; 0.1",
        "5.4, 1.00, 1.00; 15.1; 0.1",
        "5.9, 0.94, 1.00; 16.8; 0.3",
    ),
    "reconciled 100 %": (
        "9.6, 0.97, 0.98; 8.9; 0.0",
        "5.5, 1.00, 1.00; 6.3; 0.0",
        "5.3, 0.98, 0.96; 6.5; 0.0",
    ),
    "input RAG": (
        "9.4, 1.00, 0.96; 0.0; 0.0",
        "5.7, 0.98, 1.00; 0.0; 0.0",
        "5.8, 0.99, 1.00; 0.0; 0.0",
    ),
    "output RAG": (
        "10.0, 0.99, 0.94; 0.0; 0.0",
        "5.5, 0.98, 1.00; 0.0; 0.0",
        "5.7, 0.98, 0.87; 0.0; 0.0",
    ),
}
"""By domain: true claims, share true, asked values stated; claims sent; contradictions."""

AUROC = {
    ("no-RAG", 0): ("0.801", "0.763", "0.828"),
    ("Random", 25): ("0.899", "0.885", "0.917"),
    ("Verbalized", 25): ("0.932", "0.935", "0.938"),
    ("Uncertainty", 25): ("0.865", "0.884", "0.922"),
    ("UE+SBA", 25): ("0.907", "0.908", "0.939"),
}


@pytest.fixture(scope="module")
def tables(replayed: Replayed) -> Tables:
    """With intervals from few resamples: no value hangs on them."""
    settings = MetricSettings(bootstrap=100)
    return {
        domain: tuple(measure(data_of(replayed, domain, settings)))
        for domain in replayed.params.domains
    }


def recipes(table: Iterable[Measurement]) -> dict[str, Recipe]:
    return {one.name: one for one in recipes_of(table, "excluded")}


def rounded(recipe: Recipe, metric: str, places: int) -> str:
    value = recipe.value(metric)
    assert value is not None
    return f"{value:.{places}f}"


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("domain", OWN)
def test_what_an_answer_is_worth(tables: Tables, domain: str, name: str) -> None:
    recipe = recipes(tables[domain])[name]
    worth = [
        rounded(recipe, "informativeness", 1),
        rounded(recipe, "factuality", 2),
        rounded(recipe, "completeness", 2),
    ]
    rest = [rounded(recipe, metric, 1) for metric in ("claims_sent", "contradictions")]
    assert "; ".join([", ".join(worth), *rest]) == RECIPES[name][OWN.index(domain)]
    assert recipe.questions == 15


def test_what_an_answer_costs(tables: Tables) -> None:
    names = {
        **{"closed book": 1, "input RAG": 2, "paper 100 %, m = 1": 6, "paper 100 %": 11},
        "reconciled 100 %, completed": 13,
    }
    for domain in OWN:
        found = recipes(tables[domain])
        assert {name: round(found[name].value("calls") or 0) for name in names} == names


def counted(tables: Tables, budget: float, standing: str) -> dict[str, float]:
    """Statements of the reconciled answers of all domains by label."""
    counts = dict.fromkeys(("true", "false", "undecided", "unlabelled"), 0.0)
    for row in (row for domain in OWN for row in tables[domain] if row.family == "standings"):
        place = (row.method, row.budget_percent, row.level)
        if place == ("SimulRAG reconciled", budget, standing) and row.metric in counts:
            counts[row.metric] += row.value or 0.0
    return counts


def test_what_a_mark_is_worth(tables: Tables) -> None:
    checked, corrected = counted(tables, 100.0, "checked"), counted(tables, 100.0, "corrected")
    assert (checked["true"], checked["false"]) == (138, 0)
    assert (corrected["true"], corrected["false"]) == (141, 4)
    unchecked, outside = counted(tables, 25.0, "unchecked"), counted(tables, 100.0, "outside")
    assert (unchecked["true"], unchecked["false"]) == (22, 14)
    assert (outside["undecided"], sum(outside.values())) == (309, 316)


@pytest.mark.parametrize("line", AUROC, ids=lambda line: f"{line[0]}-{line[1]}")
def test_how_well_claims_are_ranked(tables: Tables, line: tuple[str, int]) -> None:
    where = {"method": line[0], "budget_percent": line[1], "undecided": "excluded"}
    found = [
        DomainTable.from_rows(domain, tables[domain]).one(
            "claims", "auroc", centrality="closeness", **where
        )
        for domain in OWN
    ]
    assert tuple(f"{row.value:.3f}" for row in found if row is not None) == AUROC[line]


def test_the_published_questions_together(tables: Tables) -> None:
    """True claims a question, and the share of all of them that is true: no mean of shares."""
    found = {
        one.name: one
        for one in pooled([list(recipes(tables[name]).values()) for name in PUBLISHED])
    }
    names = ("closed book", "paper 25 %", "reconciled 25 %", "paper 100 %", "reconciled 100 %")
    worth = {
        name: [
            f"{found[name].values['informativeness']:.1f}",
            f"{found[name].values['factuality']:.2f}",
        ]
        for name in (*names, "input RAG")
    }
    assert worth == {
        "closed book": ["2.4", "0.46"],
        "paper 25 %": ["4.5", "0.73"],
        "reconciled 25 %": ["3.8", "0.87"],
        "paper 100 %": ["4.8", "0.80"],
        "reconciled 100 %": ["4.6", "0.90"],
        "input RAG": ["4.5", "0.90"],
    }
    assert {one.questions for one in found.values()} == {12}


@pytest.mark.parametrize("domain", [*OWN, *PUBLISHED])
def test_only_the_published_questions_were_answered_by_an_oracle(
    tables: Tables, domain: str
) -> None:
    found = DomainTable.from_rows(domain, tables[domain])
    assert found.oracle == (domain in PUBLISHED)
    assert found.count("with_evidence") == found.count("completed")
