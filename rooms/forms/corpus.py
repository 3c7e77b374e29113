"""Stage ``corpus``: the documents of a source of questions by form, as a corpus."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from flows.files import check_folder, write_text
from flows.params import Params
from flows.project import Project, Results, out
from flows.running.runner import StageContext
from rooms.forms.records import corpus_folder, documents_file
from rooms.forms.settings import FormsParams
from simulators.library.corpus import MANIFEST
from simulrag.errors import InputError
from simulrag.stage import Outcome, Stage

MAKES = ("data/sources",)


def write(project: Project, params: Params, place: Results) -> None:
    """Write the hashes of every source's documents; none of a source without.

    They are what lineage knows of documents, which may lie outside of the project, where no
    dependency of DVC reaches.
    """
    wanted = params.room(FormsParams)
    check_folder(documents_file(place, "any").parent)  # an out, also where nothing is asked about
    for source in wanted.sources:
        files = wanted.documents[source].files if source in wanted.documents else []
        hashes = {name: file_hashes(project.root / name) for name in files}
        text = json.dumps(hashes, indent=2, sort_keys=True) + "\n"
        write_text(documents_file(place, source), text)


def file_hashes(place: Path) -> dict[str, str]:
    """Return the SHA-256 of a file, or of all files of a folder, by their paths in it.

    Raises InputError where there is neither.
    """
    if place.is_file():
        files = [place]
    elif place.is_dir():
        root = place.resolve()
        below = sorted(file for file in place.rglob("*") if file.is_file())
        files = [file for file in below if file.resolve().is_relative_to(root)]
    else:
        raise InputError(f"params.yaml: forms.documents: there is no file or folder {place}")
    hashes = {}
    for file in files:
        with file.open("rb") as content:
            name = file.relative_to(place).as_posix() if place.is_dir() else file.name
            hashes[name] = hashlib.file_digest(content, "sha256").hexdigest()
    return hashes


async def make(at: StageContext) -> Outcome | None:
    """Make the corpus of a source. Raises CorpusError."""
    from simulators.library.builder import build_corpus

    folder = corpus_folder(at.place, at.item)
    if (given := at.params.room(FormsParams).documents.get(at.item)) is None:
        check_folder(folder)  # questions come from its runs alone
        return None
    files = [at.project.root / name for name in given.files]
    built = build_corpus(folder, files, licence=given.licence, attribution=given.attribution)
    passages = built.manifest.passages
    counts = {"passages": (passages, passages)}
    return Outcome(f"{at.item}: {passages} passages", counts, passages, passages)


def is_corpus(folder: Path) -> bool:
    """Return whether a folder holds a corpus."""
    return (folder / MANIFEST).is_file()


STAGE = Stage(
    name="corpus",
    about="the documents that questions by form are made from",
    make=make,
    over="forms.sources",
    each="source",
    sections=("forms.documents",),
    reads=(out(documents_file),),
    makes=(out(corpus_folder),),
)
