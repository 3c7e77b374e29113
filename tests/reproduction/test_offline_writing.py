"""The offline model's writing half on the published questions.

Skipped without ``../shared/official``. The figures that these bounds hold for are in the docs page
of the offline model.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import Random
from typing import Any

import networkx as nx
import pytest

from simulrag.models.offline.claims import decompose, entail, merge
from simulrag.models.offline.closed_book import closed_book
from simulrag.models.offline.judging import judge
from simulrag.models.offline.sentences import plain
from simulrag.statements import quantities

OFFICIAL = Path(__file__).resolve().parents[2].parent / "shared" / "official"
DOMAINS = ("urban", "climate", "epidemiology")
SAMPLES = 5
QUESTIONS = 60

pytestmark = pytest.mark.skipif(
    not OFFICIAL.is_dir(), reason=f"the published questions are not at {OFFICIAL}"
)


def published(domain: str, count: int | None = None) -> list[dict[str, Any]]:
    """The questions of a domain, evenly spaced where a count is given."""
    rows: list[dict[str, Any]] = json.loads((OFFICIAL / domain / "questions.json").read_text())
    return rows if count is None else rows[:: len(rows) // count][:count]


def measured(text: str) -> set[float]:
    """The numbers of a text, years and dates left out."""
    return {abs(q.value) for q in quantities(text) if q.unit not in ("year", "date", "month_day")}


def claims_with_closeness(question: str) -> list[tuple[str, float]]:
    """The merged claims of m answers with the closeness of each in the support graph."""
    answers = [closed_book(question, Random(seed)) for seed in range(SAMPLES)]
    merged: list[str] = []
    sources: list[set[int]] = []
    for index, answer in enumerate(answers):
        claims = decompose(question, answer, 12)
        covered = {new: existing for existing, new in merge(merged, claims)}
        for position, claim in enumerate(claims):
            if position in covered:
                sources[covered[position]].add(index)
            else:
                merged.append(claim)
                sources.append({index})
    graph = nx.Graph()
    graph.add_nodes_from(("answer", index) for index in range(SAMPLES))
    graph.add_nodes_from(("claim", index) for index in range(len(merged)))
    for index, answer in enumerate(answers):
        for position, supported in enumerate(entail(answer, merged)):
            if supported or index in sources[position]:
                graph.add_edge(("answer", index), ("claim", position))
    closeness = nx.closeness_centrality(graph)
    return [(claim, closeness["claim", index]) for index, claim in enumerate(merged)]


@pytest.mark.parametrize("domain", DOMAINS)
def test_uncertainty_is_neither_blind_nor_an_oracle(domain: str) -> None:
    from sklearn.metrics import roc_auc_score

    scores: list[float] = []
    labels: list[bool] = []
    for row in published(domain, QUESTIONS):
        for claim, closeness in claims_with_closeness(row["question"]):
            label = judge(row["question"], row["reference_answer"], claim, None)["label"]
            if label != "undecided":
                scores.append(closeness)
                labels.append(label == "true")
    share = sum(labels) / len(labels)
    area = roc_auc_score(labels, scores)
    print(f"{domain}: AUROC {area:.3f}, {len(labels)} decided claims, {share:.2f} true")
    assert len(labels) > 3 * QUESTIONS
    assert 0.1 < share < 0.9
    assert 0.55 <= area <= 0.90


@pytest.mark.parametrize("domain", DOMAINS)
def test_decomposition_keeps_every_number_and_adds_none(domain: str) -> None:
    for row in published(domain):
        answer = plain(row["reference_answer"])
        claims = decompose(row["question"], row["reference_answer"], None)
        stated = {abs(q.value) for q in quantities(answer)}
        assert {abs(q.value) for claim in claims for q in quantities(claim)} == stated
        assert len(set(claims)) == len(claims) >= 1


@pytest.mark.parametrize("domain", DOMAINS)
def test_an_answer_supports_the_claims_taken_from_it(domain: str) -> None:
    supported: list[bool] = []
    for row in published(domain, 140):
        for answer in (row["reference_answer"], closed_book(row["question"], Random(7))):
            supported += entail(answer, decompose(row["question"], answer, 12))
    assert sum(supported) / len(supported) >= 0.99


@pytest.mark.parametrize("domain", DOMAINS)
def test_answers_seldom_support_claims_of_other_questions(domain: str) -> None:
    """A reference with other numbers is no support for this one's numbers."""
    rows = published(domain, QUESTIONS)
    wrong: list[bool] = []
    for row, other in zip(rows, [*rows[7:], *rows[:7]], strict=True):
        claims = decompose(row["question"], row["reference_answer"], None)
        elsewhere = measured(plain(other["reference_answer"]))
        foreign = [
            claim for claim in claims if (values := measured(claim)) and not values & elsewhere
        ]
        wrong += entail(other["reference_answer"], foreign)
    assert len(wrong) > QUESTIONS / 2
    assert sum(wrong) / len(wrong) <= 0.02


def test_a_task_takes_milliseconds() -> None:
    rows = published("urban", QUESTIONS)
    start = time.process_time()
    for row in rows:
        closed_book(row["question"], Random(1))
        decompose(row["question"], row["reference_answer"], None)
    assert (time.process_time() - start) / (2 * len(rows)) < 0.02
