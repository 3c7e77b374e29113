"""How strongly the sampled answers agree on a claim: centrality in the answer-claim graph.

The graph is bipartite: a node for every answer, a node for every claim, an edge where the answer
supports the claim. A claim in the middle of it is one that many answers share (Jiang et al. 2024,
"Graph-based Uncertainty Metrics for Long-form Language Model Outputs"; Xu et al. 2025, SimulRAG,
equation 3).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import networkx as nx

from simulrag.records import Centrality


def claim_confidence(
    support: Sequence[Sequence[object]], centrality: Centrality = "closeness"
) -> list[float]:
    """Compute the confidence of every claim, in their order; no unit, not below 0.

    ``support[answer][claim]`` is truthy where the answer supports the claim; all rows have one
    length. ``centrality`` is one of ``CENTRALITIES``:

    - ``closeness``: (n - 1) / S * (n - 1) / (N - 1), with n the size of the claim's component, S
      the sum of its distances inside it and N the number of all nodes (Wasserman and Faust's form
      for disconnected graphs). 0 for a claim that no answer supports.
    - ``degree``, ``betweenness`` (normalised), ``eigenvector`` (power iteration from a constant
      start, so that small components fade to 0), ``pagerank`` (damping 0.85).
    - ``closeness_as_printed``: the SimulRAG paper's equation 3, (N - 1) / S * N / n, with S over
      the reachable nodes and 0 for an isolated claim. On a disconnected graph its second factor
      *raises* what is cut off: a lone answer-claim pair among 39 nodes scores 741, a claim of the
      main component about 0.5. No published code computes it. It is here for comparison alone.

    No answers or no claims give an empty list.
    """
    claims = len(support[0]) if support else 0
    if claims == 0:
        return []
    graph = _graph(support, claims)
    scores = _CENTRALITIES[centrality](graph)
    return [float(scores["claim", claim]) for claim in range(claims)]


def _graph(support: Sequence[Sequence[object]], claims: int) -> Any:
    graph = nx.Graph()
    graph.add_nodes_from(("answer", answer) for answer in range(len(support)))
    graph.add_nodes_from(("claim", claim) for claim in range(claims))
    graph.add_edges_from(
        (("answer", answer), ("claim", claim))
        for answer, supported in enumerate(support)
        for claim, supports in enumerate(supported)
        if supports
    )
    return graph


def _closeness_as_printed(graph: Any) -> Mapping[Hashable, float]:
    nodes = graph.number_of_nodes()
    scores: dict[Hashable, float] = {}
    for node in graph:
        distances = nx.single_source_shortest_path_length(graph, node)
        total = sum(distances.values())
        scores[node] = (nodes - 1) / total * nodes / len(distances) if total else 0.0
    return scores


_CENTRALITIES: dict[Centrality, Callable[[Any], Mapping[Hashable, float]]] = {
    "closeness": nx.closeness_centrality,
    "degree": nx.degree_centrality,
    "betweenness": nx.betweenness_centrality,
    # Power iteration on a disconnected graph can close in slowly when two components have nearly
    # the same leading eigenvalue; each step is cheap, so the bound is above what was ever needed.
    "eigenvector": partial(nx.eigenvector_centrality, max_iter=100_000),
    "pagerank": nx.pagerank,
    "closeness_as_printed": _closeness_as_printed,
}
