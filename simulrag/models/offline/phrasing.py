"""Ways of saying a number, brought into one form before a question is read.

'a fifth fewer vehicles', 'two in ten drivers stay home' and 'from 50 to 40 km/h' are percentages in
other words. Each rule rewrites a class of phrases; what no rule knows stays as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
_WHOLE = {word: value for value, word in enumerate(_UNITS)}
_TENS = {
    word: 10 * value
    for value, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}
_TEENS = {
    word: value
    for value, word in enumerate(
        ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"],
        start=13,
    )
}
_ORDINALS = {
    word: value
    for value, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
            "thirteenth",
            "fourteenth",
            "fifteenth",
            "sixteenth",
            "seventeenth",
            "eighteenth",
            "nineteenth",
            "twentieth",
        ],
        start=1,
    )
} | {"thirtieth": 30}
_PARTS = {"half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6}
_PARTS |= {"seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "twentieth": 20}

_ONE = "|".join(_WHOLE)
_TEN = "|".join(_TENS)
_NUMBER = rf"(?:(?:{_TEN})(?:[- ](?:{_ONE}))?|{'|'.join(_TEENS)}|{_ONE})"
_PART = "|".join(_PARTS)
_MONTH = (
    r"(?:Jan|Febr?|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)"
    r"(?:uary|ch|il|ust|ember|tember|ober)?\.?"
)
_PERCENT = r"(?:\d+(?:\.\d+)?\s?(?:%|per\s?cent))"
_SPEED = r"(?:km/h|kph|mph|kilomet(?:er|re)s per hour|miles per hour)"
_TODAY = (
    r"(?:today|the (?:present|current|usual|normal|existing|base)|now\b|current|present|usual"
    r"|normal)"
)
_ROAD_USERS = (
    r"(?:the |all |our |its |those )?(?:(?:peak|usual|current|present|rush-hour|daily|private) )*"
    r"(?:traffic(?! (?:light|signal|demand))|cars|vehicles|drivers|motorists|commuters"
    r"|car trips|trips)"
)
_GONE = (
    r"(?:stay(?:s|ed|ing)? (?:at )?(?:home|away|off)|work(?:s|ing)? (?:from|at) home|switch"
    r"(?:es|ed)? to|away\b|off the (?:road|street|corridor)s?|give up|leave the (?:road|corridor)"
    r"|vanish\w*|disappear\w*|evaporate\w*|move to (?:transit|the|bus)|take the (?:bus|train|tram))"
)
_ORDINAL = rf"(?:(?:(?:twenty|thirty)[- ])?(?:{'|'.join(_ORDINALS)}))"
_MORE = r"(?:more|less|fewer|higher|lower|above|below|extra|off|of|slower|faster|greater|smaller)"


def _value(words: str) -> int:
    """'twenty-one' as 21, 'twelve' as 12."""
    known = _WHOLE | _TENS | _TEENS | _ORDINALS
    return sum(known[word] for word in re.split(r"[- ]", words.lower()))


def _share(match: re.Match[str]) -> str:
    count = match["count"].lower()
    value = 1 if count in ("a", "an", "") else _value(count)
    return f"{100 * value / _PARTS[match['part'].lower().removesuffix('s')]:.3g}%"


def _out_of(match: re.Match[str]) -> str:
    few, many = (int(w) if w.isdigit() else _value(w) for w in (match["few"], match["many"]))
    return (
        f"{100 * few / many:.3g}%{' of' if match['tail'] else ''} " if 0 < few < many else match[0]
    )


def _ratio(after: str, before: str) -> str:
    return f"{100 * float(after) / float(before):.6g}% of today's limit"


def _by_steps(match: re.Match[str]) -> str:
    before, step = float(match["before"]), float(match["step"])
    down = re.search(r"down|lower|cut|reduc|drop|less|fall|decreas", match["verb"], re.I)
    return (
        f"{match['verb']} to {_ratio(str(before - step if down else before + step), str(before))}"
    )


def _grown(match: re.Match[str]) -> str:
    verb = match[0].lower()
    if verb.startswith("hal"):
        return "falls by 50%"
    return "rises by 200%" if verb.startswith("tripl") else "rises by 100%"


Rule = tuple[str, str | Callable[[re.Match[str]], str]]
_OTHER_THING = (
    r"(?!\s+(?:lanes?|stor(?:e)?y|of (?:the )?(?:year|town|city)|party|phase|option|time))"
)
_RULES: tuple[Rule, ...] = (
    # Dates: 'September twenty-first', '2022/11/15', and '10/12/2022' as written in the USA.
    (
        rf"\b(?P<month>{_MONTH})\s+(?:the\s+)?(?P<day>{_ORDINAL})\b",
        lambda m: f"{m['month']} {_value(m['day'])}",
    ),
    (
        rf"\b(?P<day>{_ORDINAL}) of (?P<month>{_MONTH})(?!\w)",
        lambda m: f"{_value(m['day'])} {m['month']}",
    ),
    (
        r"(?<![\d/.-])(\d{4})[/.](\d{1,2})[/.](\d{1,2})(?![\d/])",
        lambda m: f"{m[1]}-{int(m[2]):02d}-{int(m[3]):02d}",
    ),
    (
        r"(?<![\d/.-])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])",
        lambda m: (
            f"{m[3]}-{int(m[1]):02d}-{int(m[2]):02d}"
            if int(m[1]) <= 12
            else f"{m[3]}-{int(m[2]):02d}-{int(m[1]):02d}"
        ),
    ),
    # Numbers in words.
    (rf"\b({_NUMBER}) and a half\b(?! percent)", lambda m: f"{_value(m[1])}.5"),
    (rf"\b({_NUMBER})(?= (?:percent|per cent)\b)", lambda m: str(_value(m[1]))),
    (
        rf"\b({_NUMBER})(?= (?:weeks?|days?|cases|patients|degrees)\b)",
        lambda m: str(_value(m[1])),
    ),
    (rf"\b({_NUMBER}) point ({_ONE})\b", lambda m: f"{_value(m[1])}.{_value(m[2])}"),
    (
        rf"(?P<lead>\b(?:R[_ ]?0|R₀|R[- ]?(?:nought|naught)|reproduct\w+ (?:number|rate))"
        rf"[^\d.;?]{{0,25}}?)"
        rf"\b(?P<value>{_NUMBER})\b(?! (?:states?|in|percent|people))",
        lambda m: f"{m['lead']}{_value(m['value'])}",
    ),
    # Shares in words: 'two in ten', 'one out of four', 'a fifth fewer', 'half the population'.
    (
        rf"\b(?P<few>{_NUMBER}|\d+) (?:out of|in)(?: every)? (?P<many>{_NUMBER}|100|10|20)\b"
        rf"(?! (?:states|lanes|lane|directions|years))\s?"
        r"(?P<tail>of\b\s?|(?!(?:is|are|has|have|was|were)\b))",
        _out_of,
    ),
    (
        rf"\b(?P<count>an?|{_NUMBER})[- ](?P<part>(?:{_PART})s?)\b(?= {_MORE}\b){_OTHER_THING}",
        _share,
    ),
    (rf"(?<=\bby )(?P<count>an?|{_NUMBER})[- ](?P<part>(?:{_PART})s?)\b", _share),
    (
        rf"\b(?P<count>an?|{_NUMBER})[- ](?P<part>(?:{_PART})s?)\b"
        r"(?= (?:has|have|is|are|was|were) (?:\w+ )?(?:it|immun\w+|protected)\b)",
        _share,
    ),
    (r"\bhalf(?= (?:of )?(?:the|all|its|our|their) (?:population|people|residents|inh))", "50% of"),
    (r"(?<=\d%) of of\b", " of"),
    (r"\bby half\b", "by 50%"),
    (
        r"(?<![\d.])0?(\.\d+)(?= of (?:the |all )?(?:population|people))",
        lambda m: f"{float(m[1]):.4%}",
    ),
    # Doubling and halving as verbs of the thing itself.
    (
        r"\b(?:halves|doubles?|triples?)\b(?=\s*(?:[,.;:?]|$|and\b|while\b|but\b|by\b|in\b|under\b))",
        _grown,
    ),
    (r"\btwice (?:as (?:high|much|many|large) as|the|its|today)", "2 times "),
    # Two speeds: the second as a share of the first.
    (
        rf"\bfrom (?P<a>\d+(?:\.\d+)?)(?: ?{_SPEED})? (?:down |up )?to "
        rf"(?P<b>\d+(?:\.\d+)?) ?{_SPEED}",
        lambda m: "to " + _ratio(m["b"], m["a"]),
    ),
    (
        rf"(?P<b>\d+)(?: ?{_SPEED})?(?: (?:zone|limit|area))? (?:where|instead of|rather than|in"
        rf" place of|replac\w+|against) (?:the |a )?(?:current |present |usual |old )?(?P<a>\d+)"
        rf"(?: ?{_SPEED})?"
        r"(?! ?(?:%|percent|per cent))(?: (?:was|is|were|are) (?:allowed|permitted|legal|posted))?",
        lambda m: (
            "speed limit set to " + _ratio(m["b"], m["a"])
            if re.search(_SPEED, m[0]) or re.search("allowed|permitted|posted", m[0])
            else m[0]
        ),
    ),
    (
        rf"(?P<verb>\b\w+(?: down| up)?) by (?P<step>\d+) ?{_SPEED} from (?:today's |the present )?"
        rf"(?P<before>\d+)(?: ?{_SPEED})?",
        _by_steps,
    ),
    # Road users who come or go.
    (rf"({_PERCENT}) (?:of )?{_ROAD_USERS}(?=[^.;?]{{0,25}}?{_GONE})", r"\1 less traffic demand"),
    (rf"({_PERCENT}) (more|fewer|less|extra|additional) {_ROAD_USERS}", r"\1 \2 traffic demand"),
    (rf"({_PERCENT}) above (?={_TODAY})", r"\1 higher than "),
    (rf"({_PERCENT}) (?:below|under) (?={_TODAY})", r"\1 lower than "),
    (
        rf"\b(?:reach(?:es|ed|ing)?|be|is|are|at) ({_PERCENT} of (?={_TODAY}))",
        r"set to \1",
    ),
    # The reproduction number described.
    (
        r"\b(?:each|every|one|a single) (?:case|person|patient|infected(?: person)?|individual)"
        r"(?: \w+){0,2} (?:infects?|passes it (?:on )?to)(?: on average)?"
        r"(?: about| roughly)? (?=\d)",
        "R0 is ",
    ),
    (r"\bR[- ]?(?:nought|naught|zero)\b", "R0"),
    (r"\bR(?= ?= ?\d| (?:of|is|equals) (?:about )?\d)", "R0"),
)
_COMPILED = tuple((re.compile(pattern, re.I), new) for pattern, new in _RULES)


@lru_cache(maxsize=512)
def canonical(question: str) -> str:
    """The question with worded numbers, shares, speeds and dates as numerals and percentages."""
    text = question
    for pattern, new in _COMPILED:
        text = pattern.sub(new, text)
    return re.sub(r"(?<=%) {2,}", " ", text)
