"""Each kind of file as pages, and what cannot be read."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators.library.builder import pages as reading
from simulators.library.builder.chunks import chunks
from simulators.library.builder.pages import read_pages
from simulators.library.errors import CorpusError, NoText, TooLarge

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
    "cells": [
        {"cell_type": "markdown", "source": ["# Clouds\n", "They float."]},
        {"cell_type": "code", "source": "print(1)"},
        {"cell_type": "markdown", "source": "More."},
    ]
}
HTML = """<html><head><title>A &amp; B</title><style>p {}</style></head><body><nav>menu</nav>
<h1>Rain</h1><p>It <b>rains</b>
often.</p><script>x()</script><ul><li>one<li>two</ul><pre>a
  b</pre></body></html>"""


def pdf(*texts: str) -> bytes:
    """A PDF with a page for each text; an empty one holds no text."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    for text in texts:
        page = writer.add_blank_page(300, 300)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode() if text else b"")
        page[NameObject("/Contents")] = writer._add_object(stream)
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


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
    (r_markdown,) = read(tmp_path, "a.Rmd", MARKDOWN)
    assert "library(x)" not in r_markdown[2]
    assert "kept" in r_markdown[2]
    assert read(tmp_path, "b.ipynb", json.dumps(NOTEBOOK)) == [
        ("b.ipynb", "Clouds", "# Clouds\nThey float.\n\nMore.")
    ]
    assert read(tmp_path, "c.html", HTML) == [
        ("c.html", "A & B", "Rain\n\nIt rains often.\n\none\ntwo\n\na\nb")
    ]
    assert read(tmp_path, "d.txt", "One.\r\n\r\n\r\n\r\nTwo.\x07") == [
        ("d.txt", "d", "One.\n\nTwo.")
    ]


def test_a_pdf_is_read_page_by_page(tmp_path: Path) -> None:
    assert read(tmp_path, "a.pdf", pdf("Ice melts", "Snow falls")) == [
        ("a.pdf, page 1", "a", "Ice melts"),
        ("a.pdf, page 2", "a", "Snow falls"),
    ]


def test_a_line_of_jsonl_carries_its_origin(tmp_path: Path) -> None:
    row = {"document": "d", "locator": "l", "text": "t", "licence": "MIT", "attribution": "A\nB"}
    path = tmp_path / "a.jsonl"
    path.write_text(f"\n{json.dumps(row)}\n")
    (page,) = read_pages(path)
    assert page == ("d", "l", "l", "t", "MIT", "A B", "")


@pytest.mark.parametrize(
    ("name", "content", "kind", "reason"),
    [
        ("a.docx", "x", CorpusError, "'.docx' is not a kind of document; known: .htm, "),
        ("a.txt", b"\xff\xfe\x00", CorpusError, "is not UTF-8 text"),
        ("a.ipynb", '{"worksheets": []}', CorpusError, "not a notebook of nbformat 4"),
        ("a.pdf", pdf("", ""), NoText, r"a PDF without text \(2 pages"),
        ("a.pdf", b"%PDF-1.4 broken", CorpusError, "cannot be read as a PDF"),
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
    monkeypatch.setattr(reading, "MOST_BYTES_A_FILE", 10)
    monkeypatch.setattr(reading, "MOST_BYTES_A_LINE", 10)
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
