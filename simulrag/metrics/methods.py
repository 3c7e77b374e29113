"""The methods that are compared, by the names that readers see; each name is spelled once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulrag.records import FinalMethod, Line

if TYPE_CHECKING:
    from simulrag.method.selection import SelectionMethod

RANDOM = "Random"
VERBALIZED = "Verbalized"
VERBALIZED_BY_CENTRALITY = "Verbalized, centrality rank"
UNCERTAINTY = "Uncertainty"
UE_SBA = "UE+SBA"
NO_RAG = "no-RAG"
ALL_RAG = "all-RAG"

BASELINES = (RANDOM, VERBALIZED, UNCERTAINTY)
"""What UE+SBA is compared with at the claim level."""
BUDGETED = (*BASELINES, UE_SBA)
"""The claim-level methods that a table shows at each budget."""

SELECTION: dict[str, SelectionMethod] = {
    RANDOM: "random",
    VERBALIZED: "verbalized",
    VERBALIZED_BY_CENTRALITY: "verbalized",
    UNCERTAINTY: "uncertainty",
    UE_SBA: "ue_sba",
}
"""How each of them selects claims."""

FINAL: dict[FinalMethod, str] = {
    "grounded": "SimulRAG grounded",
    "simulrag": "SimulRAG",
    "rag_looks": "RAG by looks",
    "output_rag": "Output-layer RAG",
    "input_rag": "Input-layer RAG",
    "closed_book": "Closed book",
}
"""The methods whose final answers are compared, in the order of the tables."""
METHOD = {name: method for method, name in FINAL.items()}
"""And back."""
SIMULRAG = FINAL["simulrag"]
GROUNDED = FINAL["grounded"]
OURS = (GROUNDED, SIMULRAG)
"""The one that says of what it states how far it was checked, and the published one."""
CLOSED_BOOK = FINAL["closed_book"]


def name_of(line: Line) -> str:
    """The name of a line's method."""
    return FINAL[line.method]


FIGURE_METRICS = {"f1": "F1", "aupr": "AUPR", "auroc": "AUROC"}
"""The metrics that curves are drawn of."""
