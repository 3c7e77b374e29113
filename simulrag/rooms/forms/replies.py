"""What the test double writes of questions by form: sentences of the texts that it is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from simulrag.method.numbers import numbers
from simulrag.models.base import Message
from simulrag.testing.wires import numbered, section

_SENTENCE = re.compile(r"[A-Z][^.!?\n<>$]{40,160}[.]")
_OPTION = re.compile(r"^ +([a-d])\) (.*)$", re.M)
_WORD = re.compile(r"[A-Za-z]{5,}")
_LOOK = "Which statement begins with"


def _part(said: list[Message], tag: str) -> str:
    return section(said, tag) or ""


def _sentences(said: list[Message]) -> list[str]:
    """At least four, of the seed first; which comes first differs by what is asked."""
    found = list(dict.fromkeys(_SENTENCE.findall(_part(said, "source_text"))))
    found += [f"Nothing more is said of point {number} of this matter." for number in range(4)]
    turn = crc32("".join(message.content for message in said).encode()) % max(1, len(found) - 4)
    return found[turn:] + found[:turn]


def _opening(said: list[Message]) -> str:
    return "Suppose that it is so. " if "Suppose ..." in said[0].content else ""


def _choice(said: list[Message]) -> Any:
    right, *wrong = sorted(_sentences(said)[:4], key=lambda text: -len(text))
    start = " ".join(right.split()[:3])
    asked = f"{_opening(said)}{_LOOK} '{start}' and holds?"
    return {"question": asked, "correct": right, "distractors": wrong}


def _freeform(said: list[Message]) -> Any:
    if section(said, "result") is not None:
        return {"question": f"{_stem(said)['question']}", "answer": _part(said, "result")}
    sentence = _sentences(said)[0]
    asked = " and ".join(sorted(set(_WORD.findall(sentence)))[:4])
    return {"question": f"{_opening(said)}What holds of {asked}?", "answer": sentence}


def _stem(said: list[Message]) -> Any:
    asked = _part(said, "asked").partition("\n")[0]
    return {"question": f"{_opening(said)}{_part(said, 'situation')} What is the {asked}?"}


def _statement(said: list[Message]) -> Any:
    term = section(said, "term")
    if term is None:
        return {"statement": _sentences(said)[0]}
    asked = _part(said, "asked").partition("\n")[0]
    return {"statement": f"{_part(said, 'situation')} The {asked} counts as {term}."}


def _term(said: list[Message]) -> Any:
    words = _WORD.findall(_part(said, "statement"))
    once = [word for word in words if len([w for w in words if w.lower() == word.lower()]) == 1]
    return {"term": max(once, key=len, default="nothing")}


def _own(said: list[Message]) -> Any:
    """The option that a stem of ours means, or whose number the text has; words are any words."""
    text = _part(said, "source_text")
    given = numbers(text)

    def answer(question: str) -> str:
        options: list[tuple[str, str]] = _OPTION.findall(question)
        for letter, option in options:
            stated = numbers(option)
            if _LOOK in question and f"'{' '.join(option.split()[:3])}'" in question:
                return letter
            if _LOOK not in question and stated and any(stated[0].repeats(n) for n in given):
                return letter
        return "none" if options else "As the text has it."

    asked = numbered(_part(said, "questions"))
    return {"answers": [{"index": i, "answer": answer(text)} for i, text in enumerate(asked)]}


def _readings(said: list[Message]) -> Any:
    def read(text: str) -> Any:
        return {
            "mentions_source": False,
            "needs_figure": False,
            "self_contained": True,
            "answerable": True,
            "gives_answer": False,
            "same_answer": True,
            "probability": (40 + crc32(text.encode()) % 60) / 100,
        }

    asked = numbered(_part(said, "questions"))
    return {"questions": [{"index": i, **read(text)} for i, text in enumerate(asked)]}


def _chosen(said: list[Message]) -> Any:
    return {"letter": "abcd"[crc32(said[-1].content.encode()) % 4]}


def _short(said: list[Message]) -> Any:
    words = _WORD.findall(_part(said, "evidence") or _part(said, "question"))
    return {"answer": f"It has to do with {' and '.join(words[:8])}."}


def prose(said: list[Message]) -> str | None:
    """The evaluator's one word, where log-probabilities are asked for in place of a schema."""
    return None if section(said, "reference") is None else _entailed(said)


def _entailed(said: list[Message]) -> str:
    return ("SUPPORTS", "REFUTES")[crc32(said[-1].content.encode()) % 2]


REPLIES: Mapping[str, Callable[[list[Message]], Any]] = {
    "WrittenChoice": _choice,
    "WrittenFreeform": _freeform,
    "WrittenStem": _stem,
    "WrittenStatement": _statement,
    "WrittenTerm": _term,
    "OwnAnswers": _own,
    "Readings": _readings,
    "ChosenOption": _chosen,
    "ShortAnswer": _short,
    "GivenTerm": _term,
    "Supported": lambda said: {"probability": (crc32(said[-1].content.encode()) % 101) / 100},
}
"""By the name of the schema that is asked for."""
