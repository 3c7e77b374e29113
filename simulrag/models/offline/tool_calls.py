"""The retrieval interface's reading: from a question and a handbook to tool calls."""

from __future__ import annotations

import re

from pydantic import JsonValue

from simulrag.models.offline.arguments import read_argument
from simulrag.models.offline.handbook import ArgumentRow, HandbookTool, read_handbook
from simulrag.models.offline.phrasing import canonical
from simulrag.models.offline.several import several
from simulrag.models.offline.stated import stated_value
from simulrag.statements import case_pair, subjects

Call = dict[str, JsonValue]

_GLOBAL = re.compile(r"\bglobal(?:ly)?\b(?: (?:average|mean|annual|surface|climate))*", re.I)
_LAND_SEA = re.compile(
    r"\bland(?:-based)?\b|\bat sea\b|\bsea\b(?!\s?-?level)|\bcoastal\b|\binland\b|\bocean\b", re.I
)
_BASELINE = re.compile(
    r"\b(?:baseline|unmodified|original|unaltered)\b"
    r"|\bwithout (?:(?:any|the|these|this|further) )?(?:\w+ )?"
    r"(?:change|modification|intervention|adjustment)"
    r"|\bunchanged (?:scenario|path)|\bno (?:further )?(?:change|intervention)"
    r"|\bdefault (?:scenario|projection)",
    re.I,
)
_COMPARES = re.compile(
    r"\bchang\w*|\bcompar\w+|\bbaseline\b|\bagainst\b|\bpercent|%|\bdifference\b|\bhow (?:much|far)"
    r"|\bincreas\w*|\bdecreas\w*|\breduc\w*|\bimprov\w*|\bfall|\bris(?:e|es)\b|\brespond|\blonger|"
    r"\bshorter|\bless\b|\bmore\b|\beffect|\bimpact|\bwould\b|\bdelta\b|\bsav(?:e|ing)|\breact|\bconsequen"
    r"|\bbetter\b|\bworse\b|\bwhat happens\b|\bgain",
    re.I,
)


def tool_calls(question: str, handbook: str, problems: list[str]) -> list[Call]:
    """The calls whose outputs the question needs; empty where nothing fits.

    A question that sets two cases side by side is read once for each. ``problems`` are the
    refusals of the attempt before. An argument that a refusal names is left out where it has a
    default, and its call is dropped where it is required: a value is never bent into the range
    behind the user's back.
    """
    cases = case_pair(canonical(question))
    if cases is None:
        return _calls(canonical(question), handbook, problems)
    found = [call for text in cases.texts for call in _calls(text, handbook, problems)]
    return [call for index, call in enumerate(found) if call not in found[:index]]


def _calls(question: str, handbook: str, problems: list[str]) -> list[Call]:
    filled: list[tuple[HandbookTool, Call]] = []
    tools = read_handbook(handbook)
    every_row = list({row.name: row for tool in tools for row in tool.arguments}.values())
    read: dict[ArgumentRow, JsonValue] = {}
    for tool in tools:
        rows = tool.arguments
        for row in rows:
            if row not in read:
                set_to = stated_value(row, question)
                read[row] = read_argument(row, question, every_row) if set_to is None else set_to
        values = {row.name: read[row] for row in rows}
        given: Call = {name: value for name, value in values.items() if value is not None}
        if {"latitude", "longitude"} <= given.keys():
            given.pop("city_name", None)  # coordinates win over a name
        if all(row.name in given for row in rows if row.required):
            filled.append((tool, given))
    calls: list[Call] = []
    for tool, given in filled:
        refused = {name for name in given if _refused(tool.name, name, problems)}
        required = {row.name for row in tool.arguments if row.required}
        if not refused & required and _asked(tool, given, question, filled):
            kept: Call = {name: value for name, value in given.items() if name not in refused}
            calls += [
                {"tool": tool.name, "arguments": case}
                for case in several(kept, tool.arguments, question)
            ]
    return calls


def _refused(tool: str, argument: str, problems: list[str]) -> bool:
    return any(
        re.search(rf"(?<![\w]){re.escape(tool)} ", problem)
        and re.search(rf"(?:^|[\s;:]){re.escape(argument)}(?:\.[\w.]+)?:", problem)
        for problem in problems
    )


def _asked(
    tool: HandbookTool,
    given: Call,
    question: str,
    filled: list[tuple[HandbookTool, Call]],
) -> bool:
    about = _about(tool)
    if re.search(r"land[\s_]or[\s_]sea|surface type|at sea", about):
        return bool(_LAND_SEA.search(question))
    if re.search(r"\blat_and_lon\b|coordinates of", about):
        return bool(re.search(r"\b(?:coordinates|latitude|longitude)\b", question, re.I))
    off_world = _is_global(tool) and not _GLOBAL.search(question)
    if not given or off_world or not _relevant(tool, question):
        return False
    return _first_of_its_kind(tool, given, question, filled)


def _first_of_its_kind(
    tool: HandbookTool, given: Call, question: str, filled: list[tuple[HandbookTool, Call]]
) -> bool:
    """Whether no other tool that could be called tells the same, better."""
    for other, values in filled:
        if other.name == tool.name:
            continue
        same = {row.name for row in other.arguments} == {row.name for row in tool.arguments}
        if same and not _preferred(tool, other, question, filled):
            return False
        if not same and _covers(values, given) and _one_of_a_kind(tool, other):
            if any(row.name.startswith("baseline") for row in other.outputs):
                return False
            return bool(_BASELINE.search(question)) or _lone_change(tool, question, filled)
    return True


def _is_global(tool: HandbookTool) -> bool:
    """Whether a tool tells of the whole world alone: it takes no place."""
    places = {"latitude", "city_name"}
    named = _GLOBAL.search(f"{tool.name.replace('_', ' ')} {tool.description}")
    return bool(named) and not places & {row.name for row in tool.arguments}


def _relevant(tool: HandbookTool, question: str) -> bool:
    """Whether the question speaks of what the tool is about."""
    about = _about(tool).replace("_", " ")
    if subjects(question) & subjects(about):
        return True
    if "temperature" in about and re.search(r"\b(?:warm|cool|hot|cold)\w*", question, re.I):
        return True
    if "travel time" in about and re.search(
        r"\b(?:time|trips?|journeys?|delays?)\b", question, re.I
    ):
        return True
    if "hospital" in about and re.search(
        r"\b(?:hospital|bed|patient|clinic|admission)", question, re.I
    ):
        return True
    choices = " ".join(choice for row in tool.arguments for choice in row.choices).lower()
    asked = set(re.findall(r"[a-z]{5,}", question.lower()))
    return bool(asked & set(re.findall(r"[a-z]{5,}", f"{about} {choices}")))


def _about(tool: HandbookTool) -> str:
    outputs = " ".join(f"{row.name} {row.meaning}" for row in tool.outputs)
    return f"{tool.name} {tool.description} {outputs}".lower()


def _preferred(
    tool: HandbookTool,
    other: HandbookTool,
    question: str,
    filled: list[tuple[HandbookTool, Call]],
) -> bool:
    """Between tools of the same arguments, the one whose outputs the question asks for."""
    worldwide = [bool(_GLOBAL.search(_about(item))) for item in (tool, other)]
    if worldwide[0] != worldwide[1]:
        asked = bool(_GLOBAL.search(question))
        return worldwide[0] == asked
    compares = [bool(re.search(r"compar|baseline|change", _about(item))) for item in (tool, other)]
    if compares[0] != compares[1]:
        return compares[0] == bool(_COMPARES.search(question))
    order = [item.name for item, _ in filled]
    return order.index(tool.name) < order.index(other.name)


def _lone_change(
    tool: HandbookTool, question: str, filled: list[tuple[HandbookTool, Call]]
) -> bool:
    """A change is asked and one other case alone is given: this tool is what it changes from."""
    others = [
        item
        for item, _ in filled
        if item.name != tool.name
        and _one_of_a_kind(tool, item)
        and not _GLOBAL.search(_about(item))
        and len(item.arguments) > 1
    ]
    return "temperature_change" in subjects(question) and len(others) == 1


def _covers(more: Call, fewer: Call) -> bool:
    return fewer.items() <= more.items() and len(more) > len(fewer)


def _one_of_a_kind(tool: HandbookTool, other: HandbookTool) -> bool:
    """Both return the same output, so that one is the other without an intervention."""
    return bool({row.name for row in tool.outputs} & {row.name for row in other.outputs}) or bool(
        subjects(_about(tool)) & subjects(_about(other))
    )
