"""Names of places in a question: a city, points on the map, states of the USA."""

from __future__ import annotations

import re

_STATE_NAMES = (
    "Alabama, Alaska, Arizona, Arkansas, California, Colorado, Connecticut, Delaware, "
    "District of Columbia, Florida, Georgia, Hawaii, Idaho, Illinois, Indiana, Iowa, Kansas, "
    "Kentucky, Louisiana, Maine, Maryland, Massachusetts, Michigan, Minnesota, Mississippi, "
    "Missouri, Montana, Nebraska, Nevada, New Hampshire, New Jersey, New Mexico, New York, "
    "North Carolina, North Dakota, Ohio, Oklahoma, Oregon, Pennsylvania, Puerto Rico, "
    "Rhode Island, South Carolina, South Dakota, Tennessee, Texas, Utah, Vermont, Virginia, "
    "Washington, West Virginia, Wisconsin, Wyoming"
)
STATES = _STATE_NAMES.split(", ")
_LETTERS = (
    "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE"
    " NV NH NJ NM NY NC ND OH OK OR PA PR RI SC SD TN TX UT VT VA WA WV WI WY"
)
_BY_LETTERS = dict(zip(_LETTERS.split(), STATES, strict=True))
_POSTAL = re.compile(rf"(?<![\w.&'’])(?:{'|'.join(_BY_LETTERS)})(?![\w&])")
_STATE = re.compile(
    r"(?<!\w)(?:"
    + "|".join(sorted(STATES, key=len, reverse=True))
    + r"|Washington,? D\.?C\.?)(?!\w)"
)

# A name: capitalised words, with the small words that stand inside names of many languages.
_WORD = r"[^\W\d_a-z][\w‘’ʻ'`.-]*"
_SMALL = (
    r"(?:de|del|de la|de los|do|da|das|dos|di|du|la|le|el|al|al-|ed|v|vor|am|an der|upon|sur|y)"
)
_NAME = rf"(?:{_SMALL} )?{_WORD}(?:[ -](?:{_SMALL} )*{_WORD})*"
_CUES = (
    rf"\b(?:city|town|village|municipality|region|location|area) (?:of|called|named) ({_NAME})",
    rf"\b(?:[Ff]or|[Cc]onsider|[Cc]onsidering|[Tt]ake|[Ii]n|[Aa]t|[Ii]magine|[Aa]round) "
    rf"(?:the )?({_NAME})",
    rf"\b(?:of|[Ww]ould|[Ss]hould|[Ww]as|[Ww]ere|[Ii]s|[Dd]oes|[Ww]ill|[Cc]ould|[Cc]an|[Aa]nd|to"
    rf"|that|from) ({_NAME})",
    rf"(?:^|[:;,.] )({_NAME})(?=[,:'’])",
    rf"(?:^|[:;,.] )({_NAME})(?= (?:in |by )?(?:1[89]|20)\d\d\b)",
    rf"({_NAME})(?=['’]s?\b)",
)
_NO_PLACE = re.compile(
    r"^(?:(?:CO2|CH4|SO2|BC|Black|Black Carbon|SSP\S*|Celsius|GHG|The|This|That|What|Which|How|If"
    r"|Is|Does|Do|Given|Under|With|When|Suppose|Compare|Based|Considering|Consider|For|In|Take|And"
    r"|January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Earth|Quantitatively|Furthermore|Additionally|Simultaneously|IPCC|AR6|CMIP6|DIY|RCP\S*|A|An"
    r"|It|Its|Relative|Carbon|Aerosol|Greenhouse)(?:[ -]|$))+",
)
_POINT = re.compile(r"[(\[]\s*([-−]?\d+(?:\.\d+)?)\s*,\s*([-−]?\d+(?:\.\d+)?)\s*[)\]]")
_LATITUDE = re.compile(
    r"(\d+(?:\.\d+)?)\s*°\s*([NS])\b|\blat(?:itude)?\s*(?:of|=|:|is)?\s*([-−]?\d+(?:\.\d+)?)", re.I
)
_LONGITUDE = re.compile(
    r"(\d+(?:\.\d+)?)\s*°\s*([EW])\b|\blon(?:g|gitude)?\s*(?:of|=|:|is)?\s*([-−]?\d+(?:\.\d+)?)",
    re.I,
)


def city(question: str) -> str | None:
    """The city a question is about: the name behind 'city of', 'for', 'in', ..., else None."""
    for cue in _CUES:
        for match in re.finditer(cue, question):
            name = match[1].rstrip(" .-'’")
            name = re.sub(r"['’]s$", "", name)
            if name and not _NO_PLACE.match(name) and not re.fullmatch(r"[A-Z]{1,3}\d?", name):
                return name
    return None


def listed(question: str, one: str) -> list[str]:
    """The names of the list ('Madrid and Rome') that holds ``one``; itself where none does."""
    for match in re.finditer(rf"{_NAME}(?:, {_NAME})*,? and (?:in |for |of )?{_NAME}", question):
        words = re.split(r",? and (?:in |for |of )?|, ", match[0])
        words[0] = re.sub(r"^(?:Compare|Contrast|Consider|Take|For|In|Between|Of) ", "", words[0])
        names = [re.sub(r"['’]s$", "", word.rstrip(" .-'’")) for word in words]
        if one in names and not any(_NO_PLACE.match(n) or n in STATES for n in names):
            return list(dict.fromkeys(names))
    return [one]


def states(question: str) -> list[str]:
    """The states of the USA named in a question, in order, each once."""
    found: list[str] = []
    for match in _STATE.finditer(_spelled(question)):
        name = (
            "District of Columbia"
            if "D" in match[0][-4:] and "Washington" in match[0]
            else match[0]
        )
        if name not in found:
            found.append(name)
    return found


def _spelled(question: str) -> str:
    """Postal letters spelled out; in a text without small letters they are words, not states."""
    if not re.search(r"[a-z]", question):
        return question
    return _POSTAL.sub(lambda match: _BY_LETTERS[match[0]], question)


def points(question: str) -> list[list[float]]:
    """Points [longitude, latitude]: '(x, y)' as it stands, else a longitude and latitude named."""
    found = [[_signed(match[1]), _signed(match[2])] for match in _POINT.finditer(question)]
    if found:
        return found
    longitude, latitude = coordinate(question, "longitude"), coordinate(question, "latitude")
    return [[longitude, latitude]] if longitude is not None and latitude is not None else []


def coordinate(question: str, axis: str) -> float | None:
    """A latitude or longitude given in words ('latitude 48.1', '11.6°E'), in degrees."""
    match = (_LATITUDE if axis == "latitude" else _LONGITUDE).search(question)
    if match is None:
        return None
    if match[3]:
        return _signed(match[3])
    return float(match[1]) * (-1 if match[2].upper() in "SW" else 1)


def _signed(text: str) -> float:
    return float(text.replace("−", "-"))
