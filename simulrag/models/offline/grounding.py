"""An answer revised by a simulator's evidence: what it decides is put right, the rest stays."""

from __future__ import annotations

from simulrag.models.offline.decomposition import atoms
from simulrag.models.offline.verification import verify
from simulrag.models.offline.wording import capitalised


def grounded(question: str, evidence: str, answer: str) -> str:
    """The answer's statements in order, each that the evidence contradicts in its corrected form.

    Nothing is added that the answer did not speak of. Statements are taken apart first, since a
    sentence may be right in one part and wrong in another.
    """
    lines = [str(verify(question, evidence, atom)["updated_claim"]) for atom in atoms(answer)]
    return " ".join(dict.fromkeys(_sentence(line) for line in lines))


def _sentence(text: str) -> str:
    return f"{capitalised(text.strip()).rstrip('.')}."
