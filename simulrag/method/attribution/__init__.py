"""Which evidence supports a claim: documents, the simulator, or one item of them.

The functions here are pure arithmetic over chances; ``attribute`` asks a model for the chances of a
question's claims, ``forecast`` for those of CIL, and ``counterfactual`` runs the simulator again.
"""

from simulrag.method.attribution.game import (
    Estimate,
    alone,
    leave_one_out,
    shapley,
    shapley_with_errors,
)
from simulrag.method.attribution.intervention import Cil, cil
from simulrag.method.attribution.sources import (
    Conditions,
    Shares,
    Support,
    by_source,
    support_of,
)

__all__ = [
    "Cil",
    "Conditions",
    "Estimate",
    "Shares",
    "Support",
    "alone",
    "by_source",
    "cil",
    "leave_one_out",
    "shapley",
    "shapley_with_errors",
    "support_of",
]
