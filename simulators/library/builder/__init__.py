"""A corpus made from files: `simulrag library build`."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from simulators.base import engine_version
from simulators.library.builder.pages import (
    CHARACTERS,
    OVERLAP,
    READERS,
    Page,
    chunks,
    line,
    read_pages,
)
from simulators.library.corpus import (
    DENSE,
    LEXICAL,
    MANIFEST,
    OFFSETS,
    PASSAGES,
    CorpusError,
    EmptyCorpus,
    EncoderName,
    LicenceMissing,
    Manifest,
    Source,
    Stored,
    TooLarge,
    file_hash,
    line_of,
)
from simulators.library.index import words

MAX_BYTES = 512 * 2**20
"""Of all files together: what an index of is made in a few GB of memory."""

_TITLES = 8
_ENCODED_AT_ONCE = 1024


@dataclass
class Built:
    """What was made of the files. ``repeated``: passages left out, being there already."""

    manifest: Manifest
    repeated: int


@dataclass
class _Work:
    """A work while its pages are read."""

    pages: int = 0
    passages: int = 0
    titles: dict[str, None] = field(default_factory=dict)


class _Counted:
    """Words of all passages as numbers, in the form that bm25s takes."""

    def __init__(self) -> None:
        self.vocabulary: dict[str, int] = {}
        self.ids: list[array[int]] = []

    def add(self, text: str) -> None:
        known = self.vocabulary
        self.ids.append(array("i", (known.setdefault(word, len(known)) for word in words(text))))


def build_corpus(
    out: Path,
    files: Sequence[Path],
    *,
    licence: str = "",
    attribution: str = "",
    dense: bool = False,
) -> Built:
    """Make a corpus of files, and of those below folders, in the folder ``out``.

    A file is a work of its own; the files below a folder are pages of one, named by their paths.
    ``licence`` and ``attribution`` hold for files that carry none of their own. With ``dense``
    vectors are made too. A corpus that is there already is replaced, as the last thing done. Equal
    files give equal bytes. Raises CorpusError, one of its kinds, or MissingEngineError.
    """
    sources = _found(files)
    _check(out, sources)
    out.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        pages = _licensed(_pages(sources), line(licence), line(attribution))
        built = _build(making, pages, dense)
        making.chmod(0o755)
        _replace(making, out)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return built


def _build(folder: Path, pages: Iterable[Page], dense: bool) -> Built:
    counted, works = _Counted(), dict[tuple[str, str, str], _Work]()
    seen: set[bytes] = set()
    offsets, repeated = [0], 0
    with (folder / PASSAGES).open("wb") as file:
        for page in pages:
            kept = 0
            for passage in _passages(page):
                digest = hashlib.sha256(passage.text.encode()).digest()
                if digest in seen:
                    repeated += 1
                    continue
                seen.add(digest)
                counted.add(passage.text)
                offsets.append(offsets[-1] + file.write(line_of(passage)))
                kept += 1
            _note(works, page, kept)
    if not any(counted.ids):
        raise EmptyCorpus("the files hold no words: nothing could be searched, nothing was made")
    _write_index(folder, counted, offsets)
    encoder = _write_vectors(folder, len(counted.ids)) if dense else None
    manifest = Manifest(
        chunk_characters=CHARACTERS,
        overlap_characters=OVERLAP,
        passages=len(counted.ids),
        sources=tuple(
            Source(
                document=document,
                licence=licence,
                attribution=attribution,
                pages=work.pages,
                passages=work.passages,
                titles=tuple(work.titles)[:_TITLES],
            )
            for (document, licence, attribution), work in works.items()
        ),
        lexical=engine_version("bm25s"),
        encoder=encoder,
        files={
            str(path.relative_to(folder)): file_hash(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
    )
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
    return Built(manifest, repeated)


def _passages(page: Page) -> Iterator[Stored]:
    pieces = chunks(page.text)
    for part, text in enumerate(pieces, start=1):
        yield Stored(**page._asdict() | {"text": text, "part": part, "parts": len(pieces)})


def _note(works: dict[tuple[str, str, str], _Work], page: Page, kept: int) -> None:
    if kept:
        work = works.setdefault((page.document, page.licence, page.attribution), _Work())
        work.pages += 1
        work.passages += kept
        work.titles.setdefault(page.title)


def _licensed(pages: Iterable[Page], licence: str, attribution: str) -> Iterator[Page]:
    """Give pages what holds for them. Raises LicenceMissing."""
    for page in pages:
        licensed = page._replace(
            licence=page.licence or licence, attribution=page.attribution or attribution
        )
        for name in ("licence", "attribution"):
            if not getattr(licensed, name):
                raise LicenceMissing(
                    f"'{page.locator}' carries no {name}: give --{name}, or a line of JSONL with it"
                )
        yield licensed


def _write_index(folder: Path, counted: _Counted, offsets: list[int]) -> None:
    import numpy as np
    from bm25s import BM25

    np.save(folder / OFFSETS, np.array(offsets, dtype=np.int64))
    index = BM25(backend="numpy", auto_compile=False)
    index.index((counted.ids, counted.vocabulary), show_progress=False)
    index.save(folder / LEXICAL, show_progress=False)


def _write_vectors(folder: Path, count: int) -> EncoderName:
    import numpy as np

    from simulators.library.encoder import WIDTH, Encoder

    encoder = Encoder()
    vectors = np.lib.format.open_memmap(
        folder / DENSE, mode="w+", dtype=np.float32, shape=(count, WIDTH)
    )
    texts: list[str] = []
    done = 0
    with (folder / PASSAGES).open("rb") as file:
        for raw in file:
            texts.append(Stored.model_validate_json(raw).text)
            if len(texts) == _ENCODED_AT_ONCE or done + len(texts) == count:
                vectors[done : done + len(texts)] = encoder.encode(texts)
                done += len(texts)
                texts.clear()
    vectors.flush()
    return encoder.name


class _File(NamedTuple):
    """A file to read; ``root`` is the folder that was named, if it was one."""

    path: Path
    root: Path | None = None


def _found(files: Sequence[Path]) -> list[_File]:
    """Find the files, and those of known kinds below folders, sorted. Raises CorpusError.

    A link out of a folder is not followed: whoever gave the folder may have laid it there.
    """
    sources: list[_File] = []
    for path in files:
        if path.is_dir():
            below = [
                _File(file, path)
                for file in sorted(path.rglob("*"))
                if file.suffix.lower() in READERS and file.is_file()
                if file.resolve().is_relative_to(path.resolve())
                # No checkpoints of notebooks, no caches.
                if not any(part.startswith(".") for part in file.relative_to(path).parts)
            ]
            if not below:
                raise EmptyCorpus(f"{path} holds no document; kinds: {', '.join(sorted(READERS))}")
            sources += below
        elif path.is_file():
            sources.append(_File(path))
        else:
            raise CorpusError(f"there is no file {path}")
    return list({file.path: file for file in sources}.values())


def _pages(files: Iterable[_File]) -> Iterator[Page]:
    for path, root in files:
        for page in read_pages(path):
            if root is None or path.suffix.lower() == ".jsonl":
                yield page
                continue
            folder = path.relative_to(root).parent
            yield page._replace(
                document=root.resolve().name, locator=(folder / page.locator).as_posix()
            )


def _check(out: Path, sources: Sequence[_File]) -> None:
    """Raise CorpusError before anything is read."""
    if out.exists() and not (out / MANIFEST).is_file() and (out.is_file() or any(out.iterdir())):
        raise CorpusError(f"{out} is there and is not a corpus: name another folder")
    total = sum(file.path.stat().st_size for file in sources)
    if total > MAX_BYTES:
        raise TooLarge(
            f"the files have {total >> 20} MiB together; a corpus is made of at most "
            f"{MAX_BYTES >> 20} MiB: leave some out"
        )


def _replace(made: Path, out: Path) -> None:
    """Put the new corpus in the old one's place; who has the old one open keeps its files."""
    if out.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
        try:
            out.rename(old / "old")
            made.rename(out)
        finally:
            shutil.rmtree(old, ignore_errors=True)
    else:
        made.rename(out)
