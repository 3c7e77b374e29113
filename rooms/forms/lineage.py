"""What lineage knows of the documents that questions by form are made from: their hashes.

They may lie outside of the project, where no dependency of DVC reaches.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from flows.files import check_folder, write_text
from flows.params import Params
from flows.project import Project, Results
from rooms.forms import places
from rooms.forms.settings import FormsParams
from simulrag.errors import InputError

MAKES = ("data/sources",)


def write(project: Project, params: Params, place: Results) -> None:
    """The hashes of every source's documents; none of a source without."""
    wanted = params.room(FormsParams)
    check_folder(places.documents(place, "any").parent)  # an out, also where nothing is asked about
    for source in wanted.sources:
        files = wanted.documents[source].files if source in wanted.documents else []
        hashes = {name: file_hashes(project.root / name) for name in files}
        text = json.dumps(hashes, indent=2, sort_keys=True) + "\n"
        write_text(places.documents(place, source), text)


def file_hashes(place: Path) -> dict[str, str]:
    """The SHA-256 of a file, or of all files of a folder, by their paths in it.

    Raises InputError where there is neither.
    """
    if place.is_file():
        found = [place]
    elif place.is_dir():
        root = place.resolve()
        below = sorted(file for file in place.rglob("*") if file.is_file())
        found = [file for file in below if file.resolve().is_relative_to(root)]
    else:
        raise InputError(f"params.yaml: forms.documents: there is no file or folder {place}")
    hashes = {}
    for file in found:
        with file.open("rb") as content:
            name = file.relative_to(place).as_posix() if place.is_dir() else file.name
            hashes[name] = hashlib.file_digest(content, "sha256").hexdigest()
    return hashes
