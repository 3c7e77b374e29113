"""Stage ``corpus``: the documents of a source of questions by form, as a corpus. Off by default."""

from __future__ import annotations

import hashlib
from pathlib import Path

from flows.files import check_folder
from flows.params import load_params
from flows.project import Project
from flows.watch.progress import say
from simulators.library.corpus import MANIFEST, Corpus
from simulators.library.index import open_ranking
from simulrag.questions.forms.documents import Documents
from simulrag.questions.forms.records import Context


def run(project: Project, source: str) -> None:
    """Make the corpus of a source. Raises CorpusError."""
    from simulators.library.builder import build_corpus

    params, out = load_params(project.params), project.results.corpus(source)
    if (given := params.forms.documents.get(source)) is None:
        check_folder(out)  # questions come from its runs alone
        return
    files = [project.root / name for name in given.files]
    built = build_corpus(out, files, licence=given.licence, attribution=given.attribution)
    say(f"{source}: {built.manifest.passages} passages")


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
