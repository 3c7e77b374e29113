"""Stage ``corpus``: the documents of a source of questions by form, as a corpus."""

from __future__ import annotations

from pathlib import Path

from flows.files import check_folder
from flows.project import out
from flows.running.runner import StageContext
from rooms.forms import places
from rooms.forms.settings import FormsParams
from simulators.library.corpus import MANIFEST
from simulrag.stage import Outcome, Stage


async def make(at: StageContext) -> Outcome | None:
    """Make the corpus of a source. Raises CorpusError."""
    from simulators.library.builder import build_corpus

    folder = places.corpus(at.place, at.item)
    if (given := at.params.room(FormsParams).documents.get(at.item)) is None:
        check_folder(folder)  # questions come from its runs alone
        return None
    files = [at.project.root / name for name in given.files]
    built = build_corpus(folder, files, licence=given.licence, attribution=given.attribution)
    passages = built.manifest.passages
    counts = {"passages": (passages, passages)}
    return Outcome(f"{at.item}: {passages} passages", counts, passages, passages)


def is_corpus(folder: Path) -> bool:
    """Whether a folder holds a corpus."""
    return (folder / MANIFEST).is_file()


STAGE = Stage(
    name="corpus",
    about="the documents that questions by form are made from",
    make=make,
    over="forms.sources",
    each="source",
    sections=("forms.documents",),
    reads=(out(places.documents),),
    makes=(out(places.corpus),),
)
