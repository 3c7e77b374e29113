"""Questions by role: who asks, with which concern, about what; the wording is ours.

Counts and facts as in SCORE (arXiv 2602.10017): 41 professions in five sectors, 173 pairs of a
hazard and a county of the USA (``hazards.csv``), five timelines, three concerns.
"""

from __future__ import annotations

import csv
import hashlib
import random
from collections.abc import Sequence
from importlib import resources

from simulrag.errors import InputError
from simulrag.records import Question

DOMAIN = "hazards"
TIMELINES = ("5 to 10", "10 to 20", "20 to 30", "30 to 50", "50 to 100")
CONCERNS = {
    "facts": (
        "Which parts of the {sector} system does {hazard} harm most in {place}, and how?",
        "How often has {hazard} interrupted {sector} services in {place}, and for how long?",
        "By how much will the threat of {hazard} to {sector} in {place} change in {years} years?",
    ),
    "advice": (
        "What should I change first so that {sector} in {place} withstands {hazard}?",
        "Which measures keep {sector} services in {place} running during {hazard}?",
        "How should I plan {sector} in {place} for {hazard} over the next {years} years?",
    ),
    "both": (
        "When {hazard} strikes {sector} in {place}, what else fails, and what would limit that?",
        "How large is the damage of {hazard} to {sector} in {place}, and what would lower it?",
    ),
}
"""By concern, what is asked: facts, advice, or both."""
ROLES = {
    "urban": {
        "mayor": "I decide whether the city goes on with this and must defend it in public.",
        "hospital planner": "My ambulances use this corridor every day.",
        "traffic engineer": "I set the signals and the lanes here.",
    },
    "climate": {
        "mayor": "My city has to adapt to what comes.",
        "hospital planner": "I plan for the heat that my patients will have to bear.",
        "water systems engineer": "My reservoirs are built for the climate of the past.",
    },
    "epidemiology": {
        "mayor": "I may have to close schools and must say why.",
        "hospital planner": "I plan beds and staff for this season.",
        "traffic engineer": "I plan how many buses run while people stay at home.",
    },
}
"""By domain of a simulator, who asks about one scenario, and why."""


def hazard_questions(count: int, seed: int = 0) -> list[Question]:
    """Draw distinct questions by profiles: a hazard, a county of it, then the rest by chance.

    They have no reference and no simulator. Raises InputError for fewer than one.
    """
    if count < 1:
        raise InputError(f"give a count of at least 1, not {count}")
    pairs, professions = _table("hazards.csv"), _table("professions.csv")
    hazards = sorted({row["hazard"] for row in pairs})
    draw = random.Random(seed)  # noqa: S311 a seeded draw
    questions: dict[str, Question] = {}
    while len(questions) < count:
        hazard = draw.choice(hazards)
        where = draw.choice([row for row in pairs if row["hazard"] == hazard])
        who, years = draw.choice(professions), draw.choice(TIMELINES)
        asked = draw.choice(CONCERNS[draw.choice(sorted(CONCERNS))])
        place = f"{where['county']}, {where['state']}"
        named = hazard if hazard == "coastal flooding" else _article(hazard)
        text = asked.format(sector=who["sector"], hazard=named, place=place, years=years)
        words = (
            f"I work as {_article(who['profession'])} and plan for the next {years} years. {text}"
        )
        questions.setdefault(words, _question(DOMAIN, words, f"{DOMAIN}-{_digest(hazard, place)}"))
    return list(questions.values())


def asked_by_roles(questions: Sequence[Question]) -> list[Question]:
    """Return each question of a simulator's domain as each of the domain's roles asks it.

    What is asked, the scenario and the reference stay, so answers differ by who asks alone. Raises
    InputError for a domain without roles.
    """
    asked = []
    for question in questions:
        if question.domain not in ROLES:
            known = ", ".join(ROLES)
            raise InputError(f"nobody is known to ask about '{question.domain}'; known: {known}")
        for role, why in ROLES[question.domain].items():
            text = f"I am {_article(role)}. {why} {question.text}"
            new = {"text": text, "question_id": f"{question.domain}-{_digest(text)}"}
            asked.append(question.model_copy(update=new))
    return asked


def _question(domain: str, text: str, scenario: str) -> Question:
    return Question(
        question_id=f"{domain}-{_digest(text)}",
        domain=domain,
        text=text,
        reference_answer="",
        scenario_id=scenario,
    )


def _table(name: str) -> list[dict[str, str]]:
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _article(noun: str) -> str:
    return f"{'an' if noun[0].lower() in 'aeio' or noun[:2] in ('EV', 'ME') else 'a'} {noun}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
