"""Flesch reading ease and Flesch-Kincaid grade level, with a counter of its own name.

What a sentence, a word and a syllable is decides these measures as much as the formulas do:
counters of other packages differ by 5 % in syllables, and some end a sentence inside of "12.5".
"""

from __future__ import annotations

import re
from typing import NamedTuple

_ITEM = re.compile(r"\s*(?:[-*+•–]|#+|>|\(?(?:\d{1,3}|[a-z])[.)])\s+|\s*\|")
_RULE = re.compile(r"[\s|:=*_-]*")
_END = re.compile(r"([^\s(]*?)[.!?]+[\"'”’)\]*]*\s+(?=[\"'“‘(\[*]*[A-Z0-9])")
_BEFORE_NAMES = str.split("dr mr mrs ms prof st vs cf e.g i.e approx ca")
_BEFORE_NUMBERS = str.split("no nos fig figs eq eqs sec tab ch vol p pp al")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+[A-Z]")

_WORD = re.compile(r"[^\s—]*[^\W_][^\s—]*(?: (?=[%°])\S+)?")
_PART = re.compile(r"\d|%|°|[^\W\d_]+(?:['’][^\W\d_]+)*")
_UNITS = dict.fromkeys(["km", "cm", "mm"], 4) | dict.fromkeys(["kg", "mg", "kw", "mw", "ppm"], 3)
_UNITS |= dict.fromkeys(["m", "min", "%", "°"], 2)
"""Syllables of what is read aloud in full; other units have a syllable a part ("h", "s", "t")."""

_VOWELS = re.compile(r"[aeiouy]+")
_SILENT = re.compile(
    r"(?<![aeiouy])(?<=[^aeiouy])e$(?<![^aeiouyrlw]le)|(?<=[^aeiouytd])ed$(?<![^aeiouyrlw]led)"
    r"|(?<=[^aeiouyscxzg])(?<!sh)(?<!ch)es$(?<![^aeiouyrlw]les)"
    r"|(?<=[a-z][^aeiouy])e(?=(?:ly|ments?|ful|fully|less|ness|where|lines?|works?|ty|things?|fore)$)"
    r"|^y"
)
_HIATUS = re.compile(
    r"i(?=a(?!g$|ges?$)|o(?!n)|u|et)|(?<![qg])u(?=[ao](?!$)|i(?=ty|ng|st))|e(?=o(?!us|n|p)|ing$|um)"
    r"|[aeo]y?(?=ing$)|y(?=[aeiou])|(?<=cr)e(?=at)|(?<=sc)i(?=en)"
)
_SOFT = re.compile(r"(?:(?<!^s)[ctsg]i|(?<!^)[xs]ci)(?=a[ln]|ou|en|on)")

_ENGLISH = str.split("the of and to is are that this with for from was by at as it be not")
_OTHERS = str.split(
    "der das und ist nicht ein eine den dem mit le les des et est une dans que pour el los las "
    "y en por con il di che della non het een van niet zijn uma com"
)


class TextCounts(NamedTuple):
    """Sentences, words and syllables of an English text."""

    sentences: int
    words: int
    syllables: int


def readability(text: str) -> tuple[float, float] | None:
    """Return (FRE, FKGL): FRE is easier the higher, FKGL is a US school grade.

    None without words and for a text that is not English: the formulas are
    fitted to English.
    """
    text_counts = counts(text)
    return flesch(text_counts) if text_counts.words and is_english(text) else None


def flesch(text: TextCounts) -> tuple[float, float]:
    """Compute reading ease (Flesch 1948) and grade level (Kincaid 1975).

    206.835 - 1.015 ASL - 84.6 ASW, and 0.39 ASL + 11.8 ASW - 15.59. ASL: words a sentence; ASW:
    syllables a word.
    """
    asl, asw = text.words / text.sentences, text.syllables / text.words
    return 206.835 - 1.015 * asl - 84.6 * asw, 0.39 * asl + 11.8 * asw - 15.59


def counts(text: str) -> TextCounts:
    """Count what the formulas need: a number is one word, however it is written."""
    parts = sentences(text)
    words = [word for sentence in parts for word in _WORD.findall(sentence)]
    return TextCounts(len(parts), len(words), sum(map(syllables, words)))


def is_english(text: str) -> bool:
    """Return whether the letters are Latin and the small words are of no other language."""
    letters = [letter for letter in text if letter.isalpha()]
    words = re.findall(r"[^\W\d_]+", text.lower())
    return (
        bool(letters)
        and sum(letter.isascii() for letter in letters) >= 0.9 * len(letters)
        and sum(word in _ENGLISH for word in words) >= sum(word in _OTHERS for word in words)
    )


def sentences(text: str) -> list[str]:
    """Split a text into sentences; an item of a list and a row of a table are their own.

    A point ends one where white space and a capital or a digit follow; not within a number, after
    initials ("U.S.") nor after an abbreviation that a name or number follows ("Fig. 5").
    """
    parts = []
    for block in _blocks(text):
        start = 0
        for end in _END.finditer(block):
            if not _abbreviated(end[1], block[end.end() :]):
                parts.append(block[start : end.end()])
                start = end.end()
        parts.append(block[start:])
    return [part.strip() for part in parts if _WORD.search(part)]


def syllables(word: str) -> int:
    """Count the syllables of a word read aloud, by rule: one a digit or a letter of initials."""
    total = 0
    for part in _PART.findall(word):
        spelled = part.isupper() and len(part) <= 5
        known = _UNITS.get(part.lower()) if not spelled else None
        total += known or (len(part) if spelled else _spoken(part.lower()))
    return max(1, total)


def _blocks(text: str) -> list[str]:
    """Split into paragraphs, items, headings and rows, one a line and without its mark."""
    blocks = [""]
    for line in text.splitlines():
        mark = _ITEM.match(line)
        if mark or _RULE.fullmatch(line):
            blocks.append("")
        blocks[-1] += " " + (line[mark.end() :].strip(" |") if mark else line)
        if mark and mark[0].strip() in {"|", "#", "##", "###"}:
            blocks.append("")
    return blocks


def _abbreviated(word: str, rest: str) -> bool:
    """Return whether the point after a word is an abbreviation's and ends no sentence."""
    word = word.lstrip("\"'“‘([*")
    if word.lower() in _BEFORE_NAMES or _INITIALS.fullmatch(word):
        return True
    return word.lower() in _BEFORE_NUMBERS and rest.lstrip("([")[:1].isdigit()


def _spoken(word: str) -> int:
    """Count an English word's vowel groups, less silent ones, plus pairs that are both heard."""
    word = re.sub(r"['’].*", "", word)
    heard = _SILENT.sub("", _SOFT.sub("s", word))
    return max(1, len(_VOWELS.findall(heard)) + len(_HIATUS.findall(heard)))
