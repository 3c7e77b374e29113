"""The text of an HTML page."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")
_SILENT = frozenset(_WORD.findall("script style nav footer noscript template svg form button"))
_BLOCKS = frozenset(
    _WORD.findall(
        "address article aside blockquote br dd div dl dt figcaption figure h1 h2 h3 h4 h5 h6 hr "
        "li main ol p pre section table tr ul"
    )
)

_LINES = frozenset(("br", "li", "tr"))


class _Reader:
    """What libxml2, which reads any text in linear time, tells of a page."""

    def __init__(self) -> None:
        self.title: list[str] = []
        self.text: list[str] = []
        self._silent: list[str] = []
        self._in_title = False
        self._verbatim = 0

    def start(self, tag: str, _: object) -> None:
        self._in_title = tag == "title"
        if tag in _SILENT:
            self._silent.append(tag)
        elif tag in _BLOCKS:
            self.text.append("\n" if tag in _LINES else "\n\n")
        self._verbatim += tag == "pre"

    def end(self, tag: str) -> None:
        self._in_title = False
        if tag in self._silent:
            # What was left open inside ends with it.
            del self._silent[self._silent.index(tag) :]
        elif tag in _BLOCKS - _LINES:
            self.text.append("\n")
        self._verbatim -= tag == "pre" and self._verbatim > 0

    def data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._silent:
            self.text.append(data if self._verbatim else _folded(data))

    def close(self) -> None:
        """Nothing is left to tell."""


def html_page(source: str) -> tuple[str, str]:
    """Title and text. Scripts, styles, navigation and forms are left out."""
    from lxml import etree

    reader = _Reader()
    parser = etree.HTMLParser(target=reader, encoding="utf-8")
    if source.strip():
        parser.feed(source.encode())
        parser.close()
    lines = "".join(reader.text).split("\n")
    return "".join(reader.title), "\n".join(line.strip() for line in lines)


def _folded(text: str) -> str:
    """White space as a browser shows it."""
    before, after = text[:1].isspace(), text[-1:].isspace()
    return f"{' ' * before}{' '.join(text.split())}{' ' * after}" if text.strip() else " " * before
