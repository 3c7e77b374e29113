"""The methods that are compared, by their ids; what a reader is shown stands in the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulrag.method.recipes import RECIPES, final_kinds
from simulrag.records import FinalMethod

if TYPE_CHECKING:
    from simulrag.method.selection import SelectionMethod

RANDOM = "random"
VERBALIZED = "verbalized"
VERBALIZED_BY_CENTRALITY = "verbalized_by_centrality"
UNCERTAINTY = "uncertainty"
UE_SBA = "ue_sba"
NO_RAG = "no_rag"
ALL_RAG = "all_rag"

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

RANKED_BY = {
    VERBALIZED: ("verbalized",),
    VERBALIZED_BY_CENTRALITY: ("entailment", "verbalized"),
    UE_SBA: ("entailment", "boundary"),
}
"""The steps that a method ranks and filters claims by, where that is not the entailment alone."""

GROUNDED: FinalMethod = "grounded"
SIMULRAG: FinalMethod = "simulrag"
CLOSED_BOOK: FinalMethod = "closed_book"
FINAL: tuple[FinalMethod, ...] = tuple(final_kinds())
"""The methods whose final answers are compared, in the order of the tables."""
OURS: tuple[FinalMethod, ...] = tuple(recipe.writes for recipe in RECIPES.values())
"""The recipes' own: the one that says how far what it states was checked, and the published."""

FIGURE_METRICS = {"f1": "F1", "aupr": "AUPR", "auroc": "AUROC"}
"""The metrics that curves are drawn of."""
