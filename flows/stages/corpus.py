"""Stage ``corpus``: the documents of a source of questions by form, as a corpus."""

from __future__ import annotations

import hashlib
from pathlib import Path

from flows.files import check_folder
from flows.project import Results, out
from flows.running.runner import At
from simulators.library.corpus import MANIFEST, Corpus
from simulators.library.index import open_ranking
from simulrag.questions.forms.documents import Documents
from simulrag.questions.forms.records import Context
from simulrag.stage import Outcome, Stage


async def make(at: At) -> Outcome | None:
    """Make the corpus of a source. Raises CorpusError."""
    from simulators.library.builder import build_corpus

    folder = at.place.corpus(at.item)
    if (given := at.params.forms.documents.get(at.item)) is None:
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


def documents(folder: Path) -> Documents:
    """The passages of a corpus and its lexical ranking. Raises CorpusError."""
    corpus = Corpus(folder)
    corpus.open()
    ranking = open_ranking(folder, "bm25", None)
    passages = []
    for number in range(corpus.manifest.passages):
        stored = corpus.passage(number)
        part = f", part {stored.part} of {stored.parts}" if stored.parts > 1 else ""
        passages.append(
            Context(
                id=hashlib.sha256(stored.text.encode()).hexdigest()[:12],
                text=stored.text,
                locator=f"{stored.document}, {stored.locator}{part}",
                licence=stored.licence,
                attribution=stored.attribution,
            )
        )
    return Documents(passages, ranking.top)


STAGE = Stage(
    name="corpus",
    about="the documents that questions by form are made from",
    make=make,
    over="forms.sources",
    each="source",
    sections=("forms.documents",),
    reads=(out(Results.source),),
    code=("simulators/library",),
    makes=(out(Results.corpus),),
)
