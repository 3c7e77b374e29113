"""A corpus on disk: passages, their index, and a manifest that names every file by its hash.

``corpus.json`` is the manifest, ``passages.jsonl`` holds a passage a line, ``offsets.npy`` where
each line begins, ``bm25/`` the lexical index and ``dense.npy`` the vectors, where there are any.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from simulators.base import ArgumentError, MissingEngineError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
MANIFEST = "corpus.json"
PASSAGES = "passages.jsonl"
OFFSETS = "offsets.npy"
LEXICAL = "bm25"
DENSE = "dense.npy"
_BLOCK = 1 << 20
_BUILD = "build it with `simulrag library build OUT FILE...`"


class CorpusError(ArgumentError):
    """The files or the settings of a corpus are wrong."""


class EmptyCorpus(CorpusError):  # noqa: N818 it says what is wrong, as the others do
    """Nothing that can be searched is there."""


class LicenceMissing(CorpusError):  # noqa: N818
    """A text comes without a licence, or without the name of who is to be credited."""


class NoText(CorpusError):  # noqa: N818
    """A file from which no text can be read, such as a PDF of scanned pages."""


class TooLarge(CorpusError):  # noqa: N818
    """More input than a corpus is built from."""


class CorpusChanged(MissingEngineError):  # noqa: N818
    """The corpus on disk is another one than the job began with, or was altered.

    No RunError: a model that is told of it could not mend it.
    """


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Record):
    """One work in the corpus: ``pages`` of it were read and cut into ``passages``."""

    document: str
    licence: str
    attribution: str
    pages: int = Field(ge=1)
    passages: int = Field(ge=1)
    titles: tuple[str, ...]


class EncoderName(_Record):
    """Which weights made the vectors."""

    name: str
    sha256: str


class Stored(_Record):
    """A passage as it lies in the corpus. ``part`` of ``parts`` of its page."""

    document: str
    locator: str
    title: str
    licence: str
    attribution: str
    date: str = ""
    part: int = Field(ge=1)
    parts: int = Field(ge=1)
    text: str


class Manifest(_Record):
    """What a corpus holds. ``files``: sha256 of every file, by its path in the folder."""

    format: int = 1
    chunk_characters: int
    overlap_characters: int
    passages: int = Field(ge=1)
    sources: tuple[Source, ...] = Field(min_length=1)
    lexical: str
    encoder: EncoderName | None = None
    files: dict[str, str]

    @field_validator("files")
    @classmethod
    def _within_the_corpus(cls, files: dict[str, str]) -> dict[str, str]:
        absent = {PASSAGES, OFFSETS} - files.keys()
        if absent:
            raise ValueError(f"it names no {', '.join(sorted(absent))}")
        for name in files:
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise ValueError(f"'{name}' does not lie in the corpus")
        return files

    @property
    def sha256(self) -> str:
        """The hash of the texts with their origins and licences, which is the corpus's own."""
        return self.files[PASSAGES]


class Corpus:
    """A corpus to read from. Only the manifest is read before ``open``.

    Raises CorpusError where the folder holds none.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lines: mmap.mmap | None = None
        self._offsets: npt.NDArray[np.int64] | None = None
        self._seen: dict[str, tuple[int, int, int]] = {}
        try:
            self._text = (folder / MANIFEST).read_bytes()
            self.manifest = Manifest.model_validate_json(self._text)
        except OSError:
            raise CorpusError(f"{folder} is not a corpus: it has no {MANIFEST}; {_BUILD}") from None
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise CorpusError(
                f"{folder / MANIFEST} is not a manifest of this version ({where}: {first['msg']}); "
                f"{_BUILD} anew"
            ) from None

    def open(self) -> None:
        """Check every file against the manifest and map the passages. Raises CorpusChanged."""
        import numpy as np

        self._check()
        with self.reading():
            self._offsets = np.load(self.folder / OFFSETS, mmap_mode="r")
            if self._offsets.shape != (self.manifest.passages + 1,):
                raise ValueError(f"{OFFSETS} is not of {self.manifest.passages} passages")
            with (self.folder / PASSAGES).open("rb") as file:
                self._lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raise CorpusChanged where files whose hashes are right hold no corpus after all."""
        try:
            yield
        except (
            ArithmeticError,
            AttributeError,
            EOFError,
            LookupError,
            TypeError,
            ValueError,
        ) as wrong:
            why = " ".join(str(wrong).split())[:200]
            raise CorpusChanged(
                f"the corpus in {self.folder} was altered after it was built, as its files do not "
                f"fit each other ({type(wrong).__name__}: {why}); {_BUILD}"
            ) from None

    def check_unchanged(self) -> None:
        """Raise CorpusChanged where files are others than those that ``open`` saw.

        Sizes and times are looked at; where they differ, the hashes decide.
        """
        try:
            if all(_stamp(self.folder / name) == seen for name, seen in self._seen.items()):
                return
        except OSError:
            pass
        self._check()

    def passage(self, number: int) -> Stored:
        """Read one passage by its number, from 0."""
        assert self._lines is not None
        assert self._offsets is not None
        start, end = int(self._offsets[number]), int(self._offsets[number + 1])
        return Stored.model_validate_json(self._lines[start:end])

    def _check(self) -> None:
        wanted = self.manifest.files | {MANIFEST: hashlib.sha256(self._text).hexdigest()}
        seen = {}
        for name, digest in wanted.items():
            path = self.folder / name
            try:
                seen[name] = _stamp(path)
                actual = file_hash(path)
            except OSError as error:
                raise CorpusChanged(
                    f"{path} of the corpus cannot be read any more ({error.strerror}); {_BUILD} "
                    "and start again: what was paid for is kept"
                ) from None
            if actual != digest:
                raise CorpusChanged(
                    f"{path} was changed while this job was using the corpus, or altered after it "
                    f"was built; start again, or {_BUILD}: what was paid for is kept"
                )
        self._seen = seen


def file_hash(path: Path) -> str:
    """Hash a file by sha256, read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def line_of(passage: Stored) -> bytes:
    """Write a passage as a line of ``passages.jsonl``."""
    return (json.dumps(passage.model_dump(), ensure_ascii=False) + "\n").encode()


def _stamp(path: Path) -> tuple[int, int, int]:
    status = os.stat(path)  # noqa: PTH116 called for every file at every query
    return status.st_mtime_ns, status.st_size, status.st_ino
