"""Files as pages, and pages cut into passages.

Markdown, plain text and lines of JSON are read as they are; other kinds are turned into Markdown.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from simulators.base import MissingEngineError
from simulators.library.corpus import CorpusError, NoText, TooLarge
from simulators.tied import tied

MAX_FILE_BYTES = 64 * 2**20
"""Of a file that is read as a whole; JSONL is read line by line."""

MAX_LINE_BYTES = 16 * 2**20
DEADLINE_S = 300.0
"""How long a file may take to be turned into Markdown."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufeff]")
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_COMMENT = re.compile(r"(?s)<!--.*?-->")
_PICTURE = re.compile(r"!\[[^\]]{0,400}\]\([^)]*\)")
_HEADING = re.compile(r"(?m)^#{1,6}[ \t]+(.+?)[ \t#]*(?:\{[^}]*\})?$")
CHARACTERS = 2000
OVERLAP = 200
_BREAKS = ("\n\n", "\n", ". ", " ")
"""Where a passage ends best, in this order."""


class Page(NamedTuple):
    """One text, never mixed with another: a file, a line of JSONL.

    ``licence`` and ``attribution`` are the file's own, where it carries them, as is ``date`` (ISO):
    when what it reports happened.
    """

    document: str
    locator: str
    title: str
    text: str
    licence: str = ""
    attribution: str = ""
    date: str = ""


def read_pages(path: Path) -> Iterator[Page]:
    """Read the pages of a file, by its suffix. Raises CorpusError, or MissingEngineError."""
    read = READERS.get(path.suffix.lower())
    if read is None:
        known = ", ".join(sorted(READERS))
        raise CorpusError(f"{path}: '{path.suffix}' is not a kind of document; known: {known}")
    return read(path)


def clean(text: str) -> str:
    """Equalise line ends; drop control characters, lone surrogates, spaces before a line's end."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _CONTROL.sub("", text).replace("\u00a0", " ")
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text)).strip()


def line(text: str) -> str:
    """Put a text on one line."""
    return " ".join(clean(text).split())


def _plain(path: Path) -> Iterator[Page]:
    yield Page(path.stem, path.name, path.stem, _read(path))


def _markdown(path: Path) -> Iterator[Page]:
    yield _prose(path, _read(path))


def _converted(path: Path) -> Iterator[Page]:
    """Convert any other kind by markitdown, in a process of its own: such files are not trusted."""
    if find_spec("markitdown") is None:
        raise MissingEngineError(
            f"{path}: a {path.suffix} file is turned into Markdown by the package markitdown: "
            "pip install 'simulrag[library-files]'"
        )
    _check_size(path)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.md"
        command = tied((sys.executable, "-m", "markitdown", str(path.resolve()), "-o", str(made)))
        try:
            done = subprocess.run(
                command,
                check=False,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=DEADLINE_S,
            )
        except subprocess.TimeoutExpired:
            raise CorpusError(
                f"{path} was not turned into Markdown within {DEADLINE_S:g} s; part it"
            ) from None
        if done.returncode or not made.is_file():
            why = line(done.stderr).rpartition("Exception: ")[2] or "it does not say why"
            raise CorpusError(f"{path} cannot be read by markitdown: {why[:300]}")
        text = _read(made, path)
    if not text:
        raise NoText(
            f"{path} holds no text (pictures of pages, it seems): recognise its text first, by OCR"
        )
    yield _prose(path, text)


def _json_lines(path: Path) -> Iterator[Page]:
    with path.open("rb") as file:
        for number, raw in enumerate(_lines_of(file, path), start=1):
            if not raw.strip():
                continue
            where = f"{path}:{number}"
            try:
                row = json.loads(raw.decode("utf-8-sig"))
            except (ValueError, RecursionError):
                raise CorpusError(f"{where}: this is not JSON in UTF-8") from None
            yield _row(row, where)


def _lines_of(file: Any, path: Path) -> Iterator[bytes]:
    while raw := file.readline(MAX_LINE_BYTES + 1):
        if len(raw) > MAX_LINE_BYTES:
            raise TooLarge(f"{path}: a line has more than {MAX_LINE_BYTES >> 20} MiB; part it")
        yield raw


def _row(row: object, where: str) -> Page:
    if not isinstance(row, Mapping):
        raise CorpusError(f"{where}: an object with 'text' is expected")
    values: dict[str, str] = {}
    for name in Page._fields:
        value = row.get(name, "")
        if not isinstance(value, str):
            raise CorpusError(f"{where}: '{name}' is not a text")
        values[name] = clean(value) if name == "text" else line(value)
    missing = [name for name in ("document", "locator", "text") if name not in row]
    if missing:
        raise CorpusError(f"{where}: '{missing[0]}' is missing")
    try:
        datetime.fromisoformat(values["date"] or "2000-01-01")
    except ValueError:
        raise CorpusError(
            f"{where}: '{values['date']}' is no date; write it as 2024-08-01"
        ) from None
    return Page(**values | {"title": values["title"] or values["locator"]})


def _prose(path: Path, text: str) -> Page:
    """Read Markdown without front matter, comments and pictures; its title from what it says."""
    front = _FRONT_MATTER.match(text)
    title = re.search(r"^title:[ \t]*(.+)$", front[1], re.MULTILINE) if front else None
    body = _PICTURE.sub("", _COMMENT.sub("", text[front.end() :] if front else text))
    heading = title or _HEADING.search(body)
    name = heading[1].strip(" \t\"'") if heading else path.stem
    return Page(path.stem, path.name, line(name), clean(body))


def _read(path: Path, of: Path | None = None) -> str:
    """Read a text; ``of``: the file that it was made of."""
    _check_size(path, of)
    try:
        return clean(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise CorpusError(f"{of or path} is not UTF-8 text; convert it first") from None


def _check_size(path: Path, of: Path | None = None) -> None:
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise TooLarge(
            f"{of or path} has {size >> 20} MiB; a file may have {MAX_FILE_BYTES >> 20} MiB: "
            "part it, or write its text as JSONL, which is read line by line"
        )


READERS: Mapping[str, Callable[[Path], Iterator[Page]]] = {
    **dict.fromkeys((".md", ".markdown", ".rmd", ".qmd"), _markdown),
    ".txt": _plain,
    ".jsonl": _json_lines,
    **dict.fromkeys(
        (".docx", ".epub", ".htm", ".html", ".ipynb", ".pdf", ".pptx", ".xlsx"), _converted
    ),
}
"""By suffix."""


def chunks(text: str, size: int = CHARACTERS, overlap: int = OVERLAP) -> list[str]:
    """Cut pieces of at most ``size`` characters; the next begins ``overlap`` before the last's end.

    A piece ends at a paragraph, line, sentence or word, if there is one in its last third.
    """
    pieces: list[str] = []
    start = 0
    while True:
        end = len(text) if len(text) - start <= size else _end(text, start, size)
        if piece := text[start:end].strip():
            pieces.append(piece)
        if end == len(text):
            return pieces
        start = _start(text, end, overlap)


def _end(text: str, start: int, size: int) -> int:
    for mark in _BREAKS:
        at = text.rfind(mark, start + 2 * size // 3, start + size)
        if at >= 0:
            return at + len(mark.rstrip())
    return start + size


def _start(text: str, end: int, overlap: int) -> int:
    """Find the first word of the overlap; a text without spaces is cut in the middle of it all."""
    for place in range(end - overlap, end):
        if text[place - 1].isspace():
            return place
    return end - overlap
