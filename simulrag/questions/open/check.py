"""The check of a written question: everything it states is recomputed from the evidence.

A sentence is read in pieces, each about one quantity where the sentence allows that, so that two
results that changed places are found out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from simulrag.questions.open.facts import Facts, Output, gather_facts
from simulrag.questions.open.reading import equals, matches, numbers, pieces, stands_for_a_result, states
from simulrag.questions.open.scenarios import SampledScenario
from simulrag.models.replies import Template
from simulrag.records import Evidence, Record, ReferenceClaim
from simulrag.statements import (
    case_names,
    class_of,
    class_words,
    direction_words,
    directions,
    subject_spans,
    thresholds,
)

_CLASSED = re.compile(
    r"\b(?:categor\w+|class\w*|consider\w*|counts?|range|band|threshold\w*|magnitude|reductions?"
    r"|increases?|decreases?|changes?|falls (?:in|with)\w*)\b",
    re.I,
)


class Problem(Record):
    """One reason to reject. ``kind`` is what rejections are counted by.

    Kinds of this check: number, direction, class, tag, missing, leak, threshold, ambiguous.
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
    """Everything that is wrong with a question and its reference; [] where nothing is.

    Numbers are compared at their own rounding with the outputs of ``evidence``, classes with the
    template's limits, directions with signs. A scenario or threshold number may be repeated, but
    not stand for a result. Of several runs, a sentence is held to those that it names.
    """
    facts = gather_facts(template, scenario, evidence)
    problems = [
        _problem("missing", "evidence", f"a number for {ask.output}")
        for ask in template.asks
        if not ask.answers and not any(output.ask is ask for output in facts.asked)
    ]
    problems += _question_problems(question_text, facts)
    problems += _statement_problems("reference", reference_answer, facts)
    for index, claim in enumerate(claims):
        problems += _statement_problems(f"claim {index}", claim.text, facts)
        problems += _tag_problems(f"claim {index}", claim, facts)
    problems += _missing("reference", [reference_answer], facts)
    problems += _missing("claims", [claim.text for claim in claims], facts)
    return problems


def _question_problems(question: str, facts: Facts) -> list[Problem]:
    problems = []
    stated = numbers(question)
    known = (*facts.setup, *facts.limits)
    for item in stated:
        if any(equals(item, value) for value in known):
            continue
        for output in facts.asked:
            if matches(item, output):
                problems.append(_problem("leak", "question", f"{item.value:g} is {output.name}"))
    groups = thresholds(question)
    for output in facts.asked:
        unstated = [x for x in output.limits if not any(equals(item, x) for item in stated)]
        problems += [
            _problem("threshold", "question", f"the limit {x:g} of {output.name} is not stated")
            for x in unstated
        ]
        if abs(output.quantity.value) in output.limits:
            problems.append(
                _problem("ambiguous", "question", f"{output.name} lies on a limit of its classes")
            )
            continue
        for group in groups:
            name = class_of(abs(output.quantity.value), group.classes)
            same_names = output.ask is not None and {c.name for c in group.classes} == {
                c.name.lower() for c in output.ask.classes
            }
            right = (output.class_name or "").lower()
            if same_names and _subject_fits(group.subject, output) and name != right:
                problems.append(
                    _problem("threshold", "question", f"its classes make {output.name} '{name}'")
                )
    return problems


def _statement_problems(where: str, text: str, facts: Facts) -> list[Problem]:
    problems = []
    previous: list[Output] = []
    runs: list[int] = []
    for piece in pieces(text, facts):
        here = case_names(piece, facts.runs) if facts.runs else []
        runs = here or runs
        within = [output for output in facts.outputs if _of_runs(output, runs)]
        named = [output for output in within if output.mentions(piece)]
        asked = [output for output in named if output.ask is not None]
        stated = [output for output in within if output.ask is not None and states(piece, output)]
        problems += _number_problems(where, piece, named, facts)
        problems += _direction_problems(where, piece, asked or named or stated, here)
        problems += _answer_problems(where, piece, facts)
        about = asked or ([] if named else stated)
        if about or _CLASSED.search(piece):
            problems += _class_problems(where, piece, about or previous or facts.asked, facts)
        previous = about or previous
    return problems


def _number_problems(where: str, piece: str, named: list[Output], facts: Facts) -> list[Problem]:
    """``named``: every output that the piece speaks of, asked for or not."""
    problems = []
    asked = [output for output in named if output.ask is not None]
    for item in numbers(piece):
        if any(matches(item, output) for output in asked or named):
            continue
        written = piece[item.start : item.unit_end]
        if any(equals(item, value) for value in (*facts.setup, *facts.limits)):
            if not stands_for_a_result(piece, item, asked, facts):
                continue
            text = f"{written} is no result of {_names(asked)}: '{piece}'"
        elif others := [output for output in facts.outputs if matches(item, output)]:
            if not named or any(output in named for output in others):
                continue
            text = f"{written} is {others[0].name}, not {_names(named)}: '{piece}'"
        else:
            text = f"{written} is neither in the evidence nor in the question: '{piece}'"
        problems.append(_problem("number", where, text))
    return problems


def _of_runs(output: Output, runs: list[int]) -> bool:
    """Whether a sentence about the named runs (none: about any) can mean an output."""
    of = {output.run, output.against} if output.against is not None else {output.run}
    return not runs or bool(of & set(runs))


def _answer_problems(where: str, piece: str, facts: Facts) -> list[Problem]:
    """Of the words that an output can be, a piece that uses any uses the right one."""
    problems = []
    for ask, right in facts.answers:
        said = class_words(piece, ask.answers)
        if said and right not in said and len(set(said)) == 1:
            text = f"{ask.output} is {right}: '{piece}'"
            problems.append(_problem("class", where, text))
    return problems


def _direction_problems(
    where: str, piece: str, about: list[Output], runs: list[int]
) -> list[Problem]:
    changes = [output for output in about if output.is_change]
    stated = directions(piece)
    # "a cut in emissions outweighs the increase in ..." says two things, and which of what is open.
    weighs = not numbers(piece) and len({word.direction for word in direction_words(piece)}) > 1
    first = runs[0] if runs else None
    if changes and not weighs and not any(output.allows(stated, first) for output in changes):
        text = f"{_names(changes)} is {changes[0].quantity.value:g}: '{piece}'"
        return [_problem("direction", where, text)]
    signed = [item for item in numbers(piece) if item.value < 0]
    return [
        _problem("direction", where, f"{output.name} is {output.quantity.value:g}: '{piece}'")
        for output in changes
        for item in signed
        if output.quantity.value > 0 and output.against is None and matches(item, output)
    ]


def _class_problems(where: str, piece: str, about: list[Output], facts: Facts) -> list[Problem]:
    """A class of the quantity's own must be the right one.

    The name of another quantity's class is an adjective where the right one stands beside it.
    """
    classed = [output for output in about if output.limits]
    right = {output.class_name.lower() for output in classed if output.class_name}
    own = {name.lower() for output in classed for name in output.class_names}
    words = class_words(piece, [name for output in facts.asked for name in output.class_names])
    stated = [word.lower() for word in words]
    said = any(word in right for word in stated)
    text = f"{_names(classed)} is {' and '.join(sorted(right))}: '{piece}'"
    return [
        _problem("class", where, text)
        for word in dict.fromkeys(stated)
        if classed and word not in right and (word in own or not said)
    ]


def _tag_problems(where: str, claim: ReferenceClaim, facts: Facts) -> list[Problem]:
    stated = numbers(claim.text)
    of_evidence = [x for x in stated if any(matches(x, output) for output in facts.outputs)]
    given = (*facts.setup, *facts.limits)
    certain = [x for x in of_evidence if not any(equals(x, value) for value in given)]
    if claim.kind == "quantitative" and not of_evidence:
        text = f"quantitative without a number of the evidence: '{claim.text}'"
        return [_problem("tag", where, text)]
    if claim.kind == "qualitative" and certain:
        text = f"qualitative with a number of the evidence: '{claim.text}'"
        return [_problem("tag", where, text)]
    return []


def _missing(where: str, texts: list[str], facts: Facts) -> list[Problem]:
    parts = [piece for text in texts for piece in pieces(text, facts)]
    problems = [
        _problem("missing", where, f"the word of {ask.output}")
        for ask, right in facts.answers
        if not any(class_words(piece, [right]) for piece in parts)
    ]
    for output in facts.asked:
        if not any(states(piece, output) for piece in parts):
            problems.append(_problem("missing", where, f"the number of {output.name}"))
        name = output.class_name
        # "significantly reduced" says "significant" too.
        forms = [] if name is None or not output.limits else [name, f"{name}ly"]
        if forms and not any(class_words(piece, forms) for piece in parts):
            problems.append(_problem("missing", where, f"the class of {output.name}"))
    return problems


def _subject_fits(subject: str, output: Output) -> bool:
    return not subject or subject in {name for name, _, _ in subject_spans(output.words)}


def _names(outputs: Sequence[Output]) -> str:
    return " and ".join(output.name for output in outputs)


def _problem(kind: str, where: str, text: str) -> Problem:
    return Problem(kind=kind, detail=f"{where}: {text}")
