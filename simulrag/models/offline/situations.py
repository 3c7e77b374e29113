"""What a question sets up: its field, its interventions and what it asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from simulrag.models.offline import places
from simulrag.models.offline.changes import Change, changes
from simulrag.models.offline.priors import VACCINE_EFFECTIVENESS, Climate, Influenza, Traffic
from simulrag.models.offline.sentences import plain, sentences
from simulrag.statements import quantities

Field = Literal["traffic", "climate", "epidemic", "other"]

_FIELD_WORDS: dict[Field, str] = {
    "traffic": r"traffic|travel time|journey time|speed limit|idling|corridor|junction|congestion|"
    r"arterial|road diet|vehicles?\b|lanes?\b|commut",
    "climate": r"temperature|°c|\bssp\s?\d|climat|warming|cooling|greenhouse|black carbon|aerosol|"
    r"\bch4\b|\bso2\b",
    "epidemic": r"influenza|\bflu\b|outbreak|epidemi|immunity|\br0\b|reproduction number|hospital|"
    r"infection|vaccin",
}
_SPEED_AND_DEMAND = {
    "speed": r"(?:speed[ -]?)?limits?|speeds?|low-speed",
    "demand": r"demand|(?:traffic )?volumes?|vehicles?|cars|drivers|traffic",
}
_EMISSIONS = {
    "co2": r"CO2|CO₂|carbon dioxide",
    "ch4": r"CH4|CH₄|methane",
    "so2": r"SO2|SO₂|sulph?ur(?: dioxide)?|sulph?ates?",
    "bc": r"black carbon|BC|soot",
}
_LOST_LANE = re.compile(
    r"(?:2|3|two|three) lanes? (?:down )?to (?:1|2|one|two|a single)|road diet|lane (?:is )?"
    r"(?:closed|removed)|one of (?:the )?(?:two|three) lanes|(?:remov|clos|tak)\w+ (?:a|one) lane",
    re.I,
)
_NEW_LANE = re.compile(r"third lane|(?:add\w*|gain\w*) (?:a|one) lane|(?:extra|new) lane", re.I)
_COORDINATED = re.compile(
    r"green[ -]wave|priority|prioriti[sz]ation|coordinat\w+ signal|signal coordination|"
    r"synchroni[sz]",
    re.I,
)
_SEASONALITY = re.compile(
    r"\b(no|without|moderate|mild|low|high|strong)\s+(?:\w+\s+){0,2}?seasonal|"
    r"seasonality (?:is |of )?(none|absent|moderate|high|strong)",
    re.I,
)
_CLOSURE = re.compile(r"school closure|clos\w+ (?:of )?schools", re.I)
LANE_LOSS, LANE_GAIN = 0.85, 1.15
"""Capacity after a lane change: turning traffic held the shared lane back before (FHWA, 2014)."""
_REPRODUCTION = re.compile(r"\bR_?0\b|R₀|reproduct\w+ number", re.I)


def field_of(question: str) -> Field:
    """The field with most of its words in the question; "other" where none occurs twice."""
    text = question.lower()
    counts = {name: len(re.findall(words, text)) for name, words in _FIELD_WORDS.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] >= 2 else "other"


def asked_part(question: str) -> str:
    """The sentences that ask; all of the text where none does."""
    found = [
        sentence
        for sentence in sentences(question)
        if "?" in sentence
        or re.match(r"(?i)(?:please|how|what|estimate|quantify|determine|give|state)\b", sentence)
    ]
    return " ".join(found) or plain(question)


def read_traffic(question: str) -> Traffic:
    """Factors from phrases such as "lowering the speed limit by 26%" or "from 2 lanes to 1"."""
    found = changes(question, _SPEED_AND_DEMAND)
    capacity = LANE_GAIN if _NEW_LANE.search(question) else 1.0
    return Traffic(
        speed_factor=_factor(found, "speed"),
        demand_factor=_factor(found, "demand"),
        capacity_factor=LANE_LOSS if _LOST_LANE.search(question) else capacity,
        green_wave=_COORDINATED.search(question) is not None,
    )


def read_climate(question: str) -> Climate:
    """Years, pathway, place and emission changes of a climate question."""
    found = changes(question, _EMISSIONS)
    years = [int(item.value) for item in quantities(question) if item.unit == "year"]
    past = [year for year in years if year < 2020]
    future = [year for year in years if year >= 2020]
    pathway = re.search(r"ssp\s?-?(\d)-?(\d)\.?(\d)", question, re.I)
    place = places.points(question)
    latitude = place[0][1] if place else places.coordinate(question, "latitude")
    share = {name: _factor(found, name) - 1 for name in _EMISSIONS}
    return Climate(
        latitude_deg=latitude,
        scenario="ssp" + "".join(pathway.groups()) if pathway else "ssp245",
        past_year=min(past) if past else 2000,
        future_year=max(future) if future else 2060,
        co2=share["co2"],
        ch4=share["ch4"],
        so2=share["so2"],
        black_carbon=share["bc"],
    )


def read_influenza(question: str) -> Influenza:
    """Reproduction number, immunity, number of states, seasonality and metric of a question."""
    numbers = quantities(question)
    reproduction, immunity = 1.8, 0.3
    for mention in _REPRODUCTION.finditer(question):
        behind = [n for n in numbers if n.unit == "" and 0 <= n.start - mention.end() < 45]
        if behind and 0.5 <= behind[0].value <= 10:
            reproduction = behind[0].value
    spots = [match.start() for match in re.finditer(r"immun", question, re.I)]
    shares = [n for n in numbers if n.unit == "percent" and 0 < n.value < 100]
    if spots and shares:
        nearest = min(shares, key=lambda n: min(abs(n.start - spot) for spot in spots))
        immunity = nearest.value / 100
    coverage = re.search(r"vaccin\w+ coverage of (\d+(?:\.\d+)?)\s?%", question, re.I)
    if coverage:
        immunity += (1 - immunity) * VACCINE_EFFECTIVENESS * float(coverage[1]) / 100
    match = _SEASONALITY.search(question)
    word = (match[1] or match[2]).lower() if match else "none"
    seasonality: Literal["none", "moderate", "high"] = "none"
    if word in ("high", "strong"):
        seasonality = "high"
    elif word in ("moderate", "mild", "low"):
        seasonality = "moderate"
    return Influenza(
        reproduction=reproduction,
        immunity=immunity,
        states=max(1, len(places.states(question))),
        seasonality=seasonality,
        metric="prevalence" if "prevalence" in question.lower() else "incidence",
        schools_closed=re.search(r"school closure|clos\w+ (?:of )?schools", question, re.I)
        is not None,
    )


def _factor(found: Mapping[str, Change], name: str) -> float:
    change = found.get(name)
    return min(max(1 + change.percent / 100, 0.3), 1.7) if change else 1.0
