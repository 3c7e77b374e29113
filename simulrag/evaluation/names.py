"""Names that readers see."""

from __future__ import annotations

FIGURE_METRICS = {"f1": "F1", "aupr": "AUPR", "auroc": "AUROC"}
"""The metrics that curves are drawn of."""
