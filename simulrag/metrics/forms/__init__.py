"""What is measured of answers by form: choice, freeform, cloze (docs/form-metrics.md)."""

from simulrag.metrics.forms.bleu import bleu, bleu_char
from simulrag.metrics.forms.exact import exact, exact_folded
from simulrag.metrics.forms.factual import smoothed

__all__ = ["bleu", "bleu_char", "exact", "exact_folded", "smoothed"]
