"""Names that readers see."""

from __future__ import annotations

FIGURE_METRICS = {"f1": "F1", "aupr": "AUPR", "auroc": "AUROC"}
"""The metrics that curves are drawn of."""

BOUNDARY_SHARES = {
    "filtered": "claims judged outside the simulator's reach",
    "kept_decided": "claims inside that verification decided",
    "filtered_decidable": "claims outside that verification could decide",
}
"""The shares that describe boundary assessment."""

PICTURES = (
    *(f"{metric}-budget" for metric in FIGURE_METRICS),
    *("precision-recall", "auroc-cost", "boundary", "reliability"),
)
"""The ends of the names of the figures that every run has, whatever its parameters."""
