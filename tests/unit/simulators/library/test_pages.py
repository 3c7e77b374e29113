"""Each kind of file as pages, and what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators.base import MissingEngineError
from simulators.library.builder import pages as reading
from simulators.library.builder.pages import chunks, read_pages
from simulators.library.corpus import CorpusError, NoText, TooLarge

MARKDOWN = """\ufeff---
title: "Ice"
---
<!-- a note -->
# Heading {#id}

Ice   melts.\r
![a picture](x.png)

```{r setup}
library(x)
```

```
kept
```
"""
NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {},
    "cells": [{"cell_type": "markdown", "source": ["# Clouds\n", "They float."], "metadata": {}}],
}
HTML = """<html><head><title>A &amp; B</title><style>p {}</style></head><body>
<h1>Rain</h1><p>It <b>rains</b>
often.</p><script>x()</script></body></html>"""


def pdf(text: str) -> bytes:
    """A PDF of one page, with this text in its stream."""
    stream = f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET" if text else ""
    parts = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources "
        "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
    )
    made, places = "%PDF-1.4\n", []
    for number, part in enumerate(parts, start=1):
        places.append(len(made))
        made += f"{number} 0 obj\n{part}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(parts) + 1
    end = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(made)}\n%%EOF\n"
    return f"{made}xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode()


BROKEN = b"%PDF-1.4\n" + bytes(range(256)) * 40


def read(tmp_path: Path, name: str, content: str | bytes) -> list[tuple[str, str, str]]:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [(page.locator, page.title, page.text) for page in read_pages(path)]


def test_each_kind_gives_its_prose_and_title(tmp_path: Path) -> None:
    (markdown,) = read(tmp_path, "a.md", MARKDOWN)
    assert markdown[:2] == ("a.md", "Ice")
    assert markdown[2].startswith("# Heading {#id}\n\nIce   melts.\n")
    assert "note" not in markdown[2]
    assert "picture" not in markdown[2]
    assert "library(x)" in markdown[2]
    assert read(tmp_path, "d.txt", "One.\r\n\r\n\r\n\r\nTwo.\x07") == [
        ("d.txt", "d", "One.\n\nTwo.")
    ]


@pytest.mark.parametrize(
    ("name", "content", "title", "text"),
    [
        ("a.ipynb", json.dumps(NOTEBOOK), "Clouds", "They float."),
        ("a.html", HTML, "Rain", "It **rains**"),
        ("a.pdf", pdf("Ice melts"), "a", "Ice melts"),
    ],
)
def test_other_kinds_are_turned_into_markdown(
    tmp_path: Path, name: str, content: str | bytes, title: str, text: str
) -> None:
    ((locator, told, said),) = read(tmp_path, name, content)
    assert (locator, told) == (name, title)
    assert text in said
    assert "x()" not in said


def test_a_kind_that_needs_markitdown_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "find_spec", lambda _: None)
    with pytest.raises(MissingEngineError, match="library-files"):
        read(tmp_path, "a.pdf", pdf("Ice"))


def test_a_file_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "DEADLINE_S", 0.01)
    with pytest.raises(CorpusError, match=r"within 0\.01 s"):
        read(tmp_path, "a.html", HTML)


def test_a_line_of_jsonl_carries_its_origin(tmp_path: Path) -> None:
    row = {"document": "d", "locator": "l", "text": "t", "licence": "MIT", "attribution": "A\nB"}
    path = tmp_path / "a.jsonl"
    path.write_text(f"\n{json.dumps(row)}\n")
    (page,) = read_pages(path)
    assert page == ("d", "l", "l", "t", "MIT", "A B", "")


@pytest.mark.parametrize(
    ("name", "content", "kind", "reason"),
    [
        ("a.zip", "x", CorpusError, "'.zip' is not a kind of document; known: .docx, "),
        ("a.txt", b"\xff\xfe\x00", CorpusError, "is not UTF-8 text"),
        ("a.pdf", pdf(""), NoText, "a.pdf holds no text"),
        ("a.pdf", BROKEN, CorpusError, "cannot be read by markitdown: File conv"),
        ("a.jsonl", "{", CorpusError, "a.jsonl:1: this is not JSON"),
        ("a.jsonl", "\n[]", CorpusError, "a.jsonl:2: an object with 'text'"),
        ("a.jsonl", '{"document": "d", "locator": "l"}', CorpusError, "'text' is missing"),
        ("a.jsonl", '{"text": 3}', CorpusError, "'text' is not a text"),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: str | bytes, kind: type[Exception], reason: str
) -> None:
    with pytest.raises(kind, match=reason):
        read(tmp_path, name, content)


def test_too_large_a_file_or_line_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", 10)
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 10)
    with pytest.raises(TooLarge, match="JSONL, which is read line by line"):
        read(tmp_path, "a.txt", "x" * 11)
    with pytest.raises(TooLarge, match="a line has more than"):
        read(tmp_path, "a.jsonl", '{"text": "long"}')


@given(st.text(alphabet="ab. \n", max_size=400), st.integers(20, 60), st.integers(0, 10))
def test_chunks_are_short_and_lose_nothing(text: str, size: int, overlap: int) -> None:
    pieces = chunks(text, size, overlap)
    assert all(0 < len(piece) <= size for piece in pieces)
    at = 0
    for piece in pieces:  # only white space lies between the end of one and the next
        gap = len(text[at:]) - len(text[at:].lstrip())
        start = text.rindex(piece, 0, at + gap + len(piece))  # the last place that loses nothing
        at = start + len(piece)
    assert text[at:].strip() == ""


def test_chunks_overlap_and_end_with_a_sentence() -> None:
    text = " ".join(f"This is sentence number {i}." for i in range(300))
    first, second, *_ = chunks(text)
    assert 1300 < len(first) <= 2000
    assert first.endswith(".")
    shared = next(n for n in range(250, 0, -1) if first[-n:] == second[:n])
    assert 150 < shared <= 200
    assert [len(piece) for piece in chunks("x" * 5000)] == [2000, 2000, 1400]
