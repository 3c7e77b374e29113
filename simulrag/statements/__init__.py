"""What a sentence states: quantities, directions, subjects and classes, as data.

The benchmark check and the offline language backend share this reading, so a number means the
same thing wherever text is compared. Nothing here knows a simulator.
"""

from simulrag.statements.cases import Pair
from simulrag.statements.cases import named as case_names
from simulrag.statements.cases import pair as case_pair
from simulrag.statements.classes import (
    AskedClasses,
    MagnitudeClass,
    class_of,
    class_words,
    thresholds,
)
from simulrag.statements.quantities import Quantity, quantities, same_number
from simulrag.statements.subjects import subject_spans, subjects
from simulrag.statements.wording import (
    Direction,
    direction,
    direction_words,
    directions,
    signed_change,
)

__all__ = [
    "AskedClasses",
    "Direction",
    "MagnitudeClass",
    "Pair",
    "Quantity",
    "case_names",
    "case_pair",
    "class_of",
    "class_words",
    "direction",
    "direction_words",
    "directions",
    "quantities",
    "same_number",
    "signed_change",
    "subject_spans",
    "subjects",
    "thresholds",
]
