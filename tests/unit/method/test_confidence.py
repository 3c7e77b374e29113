"""Claim confidence: hand-worked graphs and the edges of what can be asked."""

from __future__ import annotations

import pytest

from simulrag.method.confidence import claim_confidence
from simulrag.records import CENTRALITIES

# Two answers support claim 0, one of them claim 1; nobody supports claim 2. Five nodes.
SUPPORT = [[True, True, False], [True, False, False]]


def test_closeness_by_hand() -> None:
    # The component has four nodes: answers 0 and 1, claims 0 and 1. Claim 0: 1 + 1 + 2 = 4.
    # Claim 1: 1 + 2 + 3 = 6. Each scaled by 3/4, the share of the other nodes that it reaches.
    assert claim_confidence(SUPPORT) == pytest.approx([3 / 4 * 3 / 4, 3 / 6 * 3 / 4, 0.0])


def test_degree_by_hand() -> None:
    assert claim_confidence(SUPPORT, "degree") == pytest.approx([2 / 4, 1 / 4, 0.0])


def test_betweenness_by_hand() -> None:
    # Claim 0 lies between answer 1 and both others of its component: 2 of 6 pairs of other nodes.
    assert claim_confidence(SUPPORT, "betweenness") == pytest.approx([2 / 6, 0.0, 0.0])


def test_pagerank_sums_to_one_with_the_answers() -> None:
    scores = claim_confidence([[1, 1]], "pagerank")
    # A star of three: both claims alike, x = 0.05 + 0.85 * hub / 2, hub = 0.05 + 0.85 * 2x.
    leaf = (0.05 + 0.425 * 0.05) / (1 - 0.425 * 1.7)
    assert scores == pytest.approx([leaf, leaf], abs=1e-5)


def test_eigenvector_on_a_disconnected_graph() -> None:
    # Three answers share claim 0; the lone pair around claim 1 fades beside that component.
    scores = claim_confidence([[1, 0], [1, 0], [1, 0], [0, 1]], "eigenvector")
    assert scores[0] == pytest.approx(2**-0.5, abs=1e-4)
    assert scores[1] == pytest.approx(0.0, abs=1e-3)


def test_the_printed_form_raises_what_is_cut_off() -> None:
    # 18 answers share 19 claims; one answer and one claim stand alone: 39 nodes.
    support = [[1] * 19 + [0] for _ in range(18)] + [[0] * 19 + [1]]
    printed = claim_confidence(support, "closeness_as_printed")
    assert printed[-1] == pytest.approx(38 / 1 * 39 / 2)
    assert printed[-1] > 100 * printed[0]
    ours = claim_confidence(support, "closeness")
    assert ours[-1] < ours[0]


@pytest.mark.parametrize("centrality", CENTRALITIES)
def test_isolated_claims_never_lead(centrality: str) -> None:
    scores = claim_confidence([[1, 1, 0], [1, 0, 0]], centrality)
    assert scores[2] == min(scores)
    assert all(score >= 0 for score in scores)


@pytest.mark.parametrize("centrality", CENTRALITIES)
@pytest.mark.parametrize("support", [[], [[]], [[], []]])
def test_no_answers_or_no_claims(support: list[list[int]], centrality: str) -> None:
    assert claim_confidence(support, centrality) == []
