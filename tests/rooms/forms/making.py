"""Questions by form to test with."""

from __future__ import annotations

from typing import Any

from rooms.forms.generation import Maker
from rooms.forms.records import ChoiceQuestion, ClozeQuestion, Formed, SourceText

TEXT = "The lapse rate near 6.5 K per km decides the forcing. Ozone depletes ultraviolet light."
MAKER = Maker("notes", "notes-1", (SourceText(id="1", text=TEXT, licence="CC BY 4.0"),), 7)


def choice(stem: str = "What decides the forcing?", *options: str) -> ChoiceQuestion:
    right, *wrong = options or ("The lapse rate", "The ozone", "The surface", "The wind")
    return MAKER.choice("base", stem, right, wrong)


def cloze(statement: str = "Ozone depletes ultraviolet light.", term: str = "Ozone") -> Formed:
    found = MAKER.cloze(statement, term)
    assert isinstance(found, ClozeQuestion), found
    return found


def reading(index: int = 0, **changes: Any) -> dict[str, Any]:
    """What an auditor says of a good question, with changes."""
    good = {"mentions_source": False, "needs_figure": False, "self_contained": True}
    rest = {"answerable": True, "gives_answer": False, "same_answer": True, "probability": 0.9}
    return {"index": index, **good, **rest, **changes}
