"""Centralities and their discrimination on published answer-claim graphs.

Jiang et al. 2024, "Graph-based Uncertainty Metrics for Long-form Language Model Outputs": 100
graphs of five GPT-3.5 answers each.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from simulrag.method.confidence import claim_confidence
from simulrag.metrics.ranking import RankedClaims, measure

FILE = (
    Path(__file__).resolve().parents[2].parent
    / "shared/graph-uncertainty/pop_qa_filtered_gpt-3.5-turbo.json"
)
pytestmark = pytest.mark.skipif(not FILE.is_file(), reason=f"published graphs absent: {FILE.name}")

PUBLISHED = {
    "closeness": "breakdown_closeness_centrality_4samples",
    "betweenness": "breakdown_betweenness_centrality_4samples",
    "eigenvector": "breakdown_eigenvector_centrality_4samples",
    "pagerank": "breakdown_pagerank_4samples",
}
# The file holds 1,466 claims labelled true (Y) or false (N), the published numbers count 1,465.
# Leaving out this one claim, and no other, gives all of them to the last digit.
LEFT_OUT = (87, 11)


@pytest.fixture(scope="module")
def published() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return loaded


@pytest.mark.parametrize("centrality", PUBLISHED)
def test_equals_the_published_values(published: dict[str, Any], centrality: str) -> None:
    for graph in published["graphs"]:
        found = claim_confidence(graph["support"], centrality)
        assert found == pytest.approx(graph[centrality], abs=1e-6, rel=0)


def labelled(published: dict[str, Any], centrality: str) -> tuple[np.ndarray, np.ndarray]:
    rows = [
        (score, label == "Y")
        for number, graph in enumerate(published["graphs"])
        for claim, (label, score) in enumerate(
            zip(graph["label"], claim_confidence(graph["support"], centrality), strict=True)
        )
        if label in ("Y", "N") and (number, claim) != LEFT_OUT
    ]
    scores, true = zip(*rows, strict=True)
    return np.array(scores), np.array(true)


@pytest.mark.parametrize("centrality", PUBLISHED)
def test_discrimination_matches_to_four_digits(published: dict[str, Any], centrality: str) -> None:
    scores, true = labelled(published, centrality)
    expected = published["published"][PUBLISHED[centrality]]
    assert len(scores) == published["published"]["data_size"]
    assert roc_auc_score(true, scores) == pytest.approx(expected["auroc"], abs=5e-5)
    assert average_precision_score(true, scores) == pytest.approx(expected["auprc"], abs=5e-5)
    assert average_precision_score(~true, -scores) == pytest.approx(expected["auprc_n"], abs=5e-5)


def test_our_metrics_match_too(published: dict[str, Any]) -> None:
    scores, true = labelled(published, "closeness")
    one = np.zeros(len(scores), dtype=np.int64)
    found = measure(RankedClaims(scores, true, scenario=one, question=one), np.ones((1, 1)))
    expected = published["published"][PUBLISHED["closeness"]]
    assert found["auroc"][0] == pytest.approx(expected["auroc"], abs=5e-5)
    assert found["aupr"][0] == pytest.approx(expected["auprc"], abs=5e-5)
