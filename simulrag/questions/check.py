"""The check of a written question against its runs. It compares numbers and reads no English.

Every number of the reference and of its claims has to stand somewhere that the writer was shown, or
be an asked value; no asked result may stand in the question; every asked class has to be named.
Whether the claims agree with the evidence is asked of a model (``writing``), by the step that
verifies an answer's claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from pydantic import JsonValue

from simulrag.method.numbers import EXACT, Number, numbers
from simulrag.questions.records import AskedValue, SetUpTemplate, Template, asked_value, shown_by
from simulrag.questions.scenarios import SampledScenario
from simulrag.records import Evidence, Record, ReferenceClaim


class Problem(Record):
    """One reason to reject. ``kind`` is what rejections are counted by.

    Kinds of this check: number (it stands nowhere), missing (an asked value or class), leak (an
    asked result in the question), ambiguous (a result on a limit of its classes), contradicted
    (the evidence says otherwise).
    """

    kind: str
    detail: str


def check_reference(
    question_text: str,
    reference_answer: str,
    claims: Sequence[ReferenceClaim],
    *,
    template: Template,
    scenario: SampledScenario,
    evidence: Sequence[Evidence],
) -> list[Problem]:
    """Everything that is wrong with a question and its reference; [] where nothing is."""
    asked = [value for ask in template.asks if (value := asked_value(ask, evidence)) is not None]
    set_up = _set_up(template, scenario)
    shown = [question_text, *(item.text for item in evidence)]
    given = [*set_up, *_tried(scenario)]
    given += [number for text in shown for number in numbers(text)]
    results = [number for item in evidence for number in _output_numbers(item.outputs)]
    results += [item.value for item in asked]
    problems = _unasked(template, asked)
    problems += _leaks(question_text, asked, set_up) + _unstated(question_text, template)
    if scenario.searched:
        problems += _unnamed(reference_answer, asked)
    texts = [("reference", reference_answer)]
    texts += [(f"claim {index}", claim.text) for index, claim in enumerate(claims)]
    for where, text in texts:
        problems += [
            _problem(
                "number", where, f"{number.written} stands in nothing that was shown: '{text}'"
            )
            for number in numbers(text)
            if not any(number.repeats(other) for other in given)
            and not any(number.states(value) for value in results)
        ]
    return problems + _missing(reference_answer, template, asked, evidence)


def _set_up(template: Template, scenario: SampledScenario) -> list[Number]:
    """The numbers of the situation and its values, of the template's words and limits.

    So are those that count the runs or the asks ("(1)", "run 2"). What a search tried is left out,
    for one of these values is its result.
    """
    counts = range(max(len(template.runs), len(template.asks)) + 1)
    texts = [scenario.situation, template.situation]
    texts += () if scenario.searched else scenario.words
    texts += [run.words for run in template.runs] + [ask.words for ask in template.asks]
    if isinstance(template, SetUpTemplate):
        texts += [template.set_up, *template.beyond]
    settings: list[tuple[str, object]] = [
        (item.argument, item.value) for run in template.runs for item in run.fixed
    ]
    settings += [setting for call in scenario.calls for setting in call.arguments.items()]
    values: list[object] = [*counts, *scenario.shown.values()]
    values += [value for name, value in settings if name not in scenario.searched]
    values += [item.from_magnitude for ask in template.asks for item in ask.classes]
    written = [number for text in texts for number in numbers(text)]
    return written + [_exact(value) for value in values if _is_number(value)]


def _tried(scenario: SampledScenario) -> list[Number]:
    """What a search tried; a factor of 0.85 is 85 percent too, or a cut by 15."""
    values = [call.arguments.get(name) for call in scenario.calls for name in scenario.searched]
    factors = [float(value) for value in values if _is_number(value)]
    words = scenario.words if scenario.searched else ()
    return [
        *(number for text in words for number in numbers(text)),
        *(_exact(shown) for v in factors for shown in (v, 100 * v, 100 * (1 - v))),
    ]


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _exact(value: float) -> Number:
    return Number(f"{value:g}", abs(float(value)), EXACT)


def _unasked(template: Template, asked: Sequence[AskedValue]) -> list[Problem]:
    problems = [
        _problem("missing", "evidence", f"a number for {ask.output}")
        for ask in template.asks
        if not ask.answers and not any(item.ask is ask for item in asked)
    ]
    problems += [
        _problem("ambiguous", "evidence", f"{item.ask.output} lies on a limit of its classes")
        for item in asked
        if any(abs(abs(item.value) - limit) <= EXACT for limit in item.limits)
    ]
    return problems


def _unstated(question: str, template: Template) -> list[Problem]:
    """Numbers of the set-up that the question does not give."""
    if not isinstance(template, SetUpTemplate):
        return []
    asked = numbers(question)
    return [
        _problem("missing", "question", f"{number.written}, of the set-up")
        for number in numbers(template.set_up)
        if not any(number_asked.repeats(number) for number_asked in asked)
    ]


def _unnamed(reference: str, asked: Sequence[AskedValue]) -> list[Problem]:
    """Results of a search that the reference does not state."""
    named = numbers(reference)
    return [
        _problem("missing", "reference", f"{item.value:g}, {item.ask.output}")
        for item in asked
        if not any(number.states(item.value) for number in named)
    ]


def _leaks(question: str, asked: Sequence[AskedValue], given: Sequence[Number]) -> list[Problem]:
    return [
        _problem("leak", "question", f"{number.written} is {item.ask.output}")
        for number in numbers(question)
        if not any(number.repeats(other) for other in given)
        for item in asked
        if number.states(item.value)
    ]


def _missing(
    reference: str,
    template: Template,
    asked: Sequence[AskedValue],
    evidence: Sequence[Evidence],
) -> list[Problem]:
    """Asked classes and words that the reference does not name."""
    named = [(item.ask, item.class_name) for item in asked if item.limits]
    named += [
        (ask, str(shown_by(evidence[ask.run - 1], ask.output)))
        for ask in template.asks
        if ask.answers
    ]
    return [
        _problem("missing", "reference", f"'{word}', the class of {ask.output}")
        for ask, word in named
        if word is not None and word.casefold() not in reference.casefold()
    ]


def _output_numbers(value: JsonValue) -> Iterator[float]:
    match value:
        case bool() | None:
            return
        case dict():
            for item in value.values():
                yield from _output_numbers(item)
        case list():
            for item in value:
                yield from _output_numbers(item)
        case str():
            yield from (number.value for number in numbers(value))
        case _:
            yield float(value)


def _problem(kind: str, where: str, text: str) -> Problem:
    return Problem(kind=kind, detail=f"{where}: {text}")
