"""The short names on the page: spelled out in a list, and where a pointer rests on one."""

from __future__ import annotations

import re
from html import escape

METHODS = {
    "grounded": "SimulRAG grounded",
    "simulrag": "SimulRAG (paper)",
    "rag_looks": "RAG by looks",
    "output_rag": "Output-layer RAG",
    "input_rag": "Input-layer RAG",
    "closed_book": "Closed book",
    "random": "Random",
    "verbalized": "Verbalized",
    "verbalized_by_centrality": "Verbalized, centrality rank",
    "uncertainty": "Uncertainty",
    "ue_sba": "UE+SBA",
    "no_rag": "no-RAG",
    "all_rag": "all-RAG",
}
"""What a reader is shown of a method, by its id in the data."""
WORDS = {
    "RAG": "retrieval-augmented generation: a model answers with evidence in sight",
    "input RAG": "one answer, written with the simulator's text in sight",
    "output RAG": "one closed-book answer, revised by the simulator's text",
    "closed book": "one answer from the model's memory, without evidence",
    "RAG by looks": "one answer, written from further runs too that the model planned",
    "grounded": "the answer of RAG by looks, each claim of it held against the runs, and mended",
    "paper": "SimulRAG as published: claims of m sampled answers, so many percent of them verified",
    "m": "sampled answers behind a final one",
    "In turn": "calls that wait for one another, a question",
    "Undecided": "claims that the reference says nothing of",
    "Asked": "of the values that a question asks for, the share that a true claim states",
    "UE+SBA": "uncertainty estimation with simulator boundary assessment: the least certain of the "
    "claims that the simulator can check are verified",
    "no-RAG": "no claim is verified",
    "all-RAG": "every claim is verified",
    "AUROC": "area under the receiver operating characteristic: how often a true claim outranks a "
    "false one; 0.5 is guessing",
    "AUPR": "area under the precision-recall curve, as average precision",
    "F1": "harmonic mean of precision and recall",
    "Kappa": "claims of lower confidence are left out of the final text",
    "Holm": "p, corrected for testing several differences at once",
}
_WHERE = {
    "m": r"m(?=\Z| = )",
    "paper": r"paper(?= \d)",
}
"""Where a word that means something else elsewhere is one of them."""
_SHORT = re.compile(
    r"(?<![\w+-])("
    + "|".join(_WHERE.get(name, re.escape(name)) for name in sorted(WORDS, key=len, reverse=True))
    + r")(?![\w+-])"
)


def method_name(method: str) -> str:
    """Return a method's name; of a room's condition its id, which is a word."""
    return METHODS.get(method, method)


def spelled(text: str) -> str:
    """Write the text as HTML, each of ``WORDS`` in it an ``abbr``."""
    return _SHORT.sub(
        lambda found: f'<abbr title="{escape(WORDS[found[0]])}">{found[0]}</abbr>', escape(text)
    )
