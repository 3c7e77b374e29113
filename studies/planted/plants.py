"""Errors by arithmetic: each kind gives the edits that a text admits, a seeded draw takes two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise, permutations
from random import Random
from typing import NamedTuple

from simulrag.method.numbers import numbers
from simulrag.records import Record
from studies.planted.sites import (
    DOWN,
    UP,
    Known,
    Reading,
    Site,
    class_words,
    difference,
    direction_words,
    sentences,
    stated_parts,
)

LEAST, MOST = 0.07, 0.40
"""By which share of it a number is moved."""
NEAR = 0.75
"""A value is near a limit of its classes where the smaller is this share of the larger, or more."""
PARTS, ROUNDED = "difference of right parts", "rounded value of another run"


class Plant(Record):
    """One planted error: where ``after`` stands in the planted text, for what.

    ``runs``, from 1, give ``value`` as ``output``. Two of kind "agreeing" are one error at two
    places.
    """

    kind: str
    start: int
    before: str
    after: str
    runs: tuple[int, ...]
    output: str
    value: float


class Change(NamedTuple):
    """Words to be exchanged, and the value that decides them. ``start``: in the text before."""

    start: int
    before: str
    after: str
    known: Known


Edit = tuple[Change, ...]
Kind = Callable[[Reading, Random], Iterator[Edit]]


def _number(site: Site, after: str) -> Change:
    return Change(site.start, site.sign + site.digits, after, site.known)


def moved_value(value: float, decimals: int, rng: Random) -> float | None:
    """Move a value by 7 to 40 percent, at its decimals; None where the digits allow none."""
    for _ in range(30):
        new = round(value * (1 + rng.choice((-1, 1)) * rng.uniform(LEAST, MOST)), decimals)
        if LEAST <= abs(new / value - 1) <= MOST:
            return new
    return None


def moved(reading: Reading, rng: Random, sites: tuple[Site, ...] | None = None) -> Iterator[Edit]:
    """Move a number by 7 to 40 percent."""
    for site in reading.sites if sites is None else sites:
        signed = float(site.digits) * (-1 if site.known.value < 0 else 1)
        value = moved_value(signed, site.decimals, rng)
        if value is not None and reading.admits(site, after := site.saying(value, site.decimals)):
            yield (_number(site, after),)


def other_run(reading: Reading, _rng: Random, *, fewer: int) -> Iterator[Edit]:
    """Write the nearest value of the same output in another run, by ``fewer`` digits.

    With fewer digits it is right at its rounding, and its run's own digits stand nowhere.
    """
    for site in reading.sites:
        own, decimals = site.known, max(site.decimals - fewer, 0)
        values = [
            item.value
            for item in reading.known
            if item.quantity == own.quantity
            and len(item.runs) == len(own.runs) == 1
            and item.value * own.value > 0
            and abs(round(item.value, decimals) - own.value) > 0.6 * 10.0**-decimals
            and not (fewer and round(item.value, decimals) == item.value)
        ]
        if values:
            nearest = min(values, key=lambda value: (abs(value - own.value), value))
            yield (_number(site, site.saying(nearest, decimals)),)


def turned_sign(reading: Reading, _rng: Random) -> Iterator[Edit]:
    """Turn a written sign."""
    for site in reading.sites:
        if site.sign and not (site.known.percent and site.known.value >= 100):
            yield (_number(site, site.saying(-site.known.value, site.decimals)),)


def direction(reading: Reading, _rng: Random) -> Iterator[Edit]:
    """Exchange a direction word for its opposite."""
    for start, word, site in direction_words(reading):
        opposite = dict(zip(UP + DOWN, DOWN + UP, strict=True))[word]
        yield (Change(start, word, opposite, site.known),)


def other_class(reading: Reading, rng: Random, *, near: bool) -> Iterator[Edit]:
    """Exchange the only class word of a sentence; ``near``: for a class whose limit is near."""
    for start, site, alone in class_words(reading):
        known, own = site.known, site.known.class_of(site.known.value)
        others = [key for key in known.classes or () if key != own and alone]
        if near:
            others = [
                pair[1 - pair.index(own)]
                for limit, pair in zip(known.limits, pairwise(known.classes or ()), strict=True)
                if own in pair
                and NEAR * max(limit, abs(known.value)) <= min(limit, abs(known.value))
            ]
        if others:
            yield from _named(reading, start, rng.choice(others), known)


def _named(reading: Reading, start: int, key: str, known: Known) -> Iterator[Edit]:
    """Write another class with the article that it needs; nothing where a word forbids it."""
    before, text = known.class_of(known.value), reading.text[:start]
    if key == "hardly any" and text.endswith(" a "):
        start, before = start - 2, f"a {before}"
    elif before == "hardly any":
        key = f"a {key}"
    if not text.endswith(" in "):
        yield (Change(start, before, key, known),)


def wrong_difference(reading: Reading, rng: Random) -> Iterator[Edit]:
    """Move a difference whose parts stand beside it and stay right, within its class."""
    for _, _, gap, _ in stated_parts(reading):
        for (change,) in moved(reading, rng, (gap,)):
            if gap.known.class_of(float(change.after)) == gap.known.class_of(gap.known.value):
                yield (change,)


def agreeing(reading: Reading, rng: Random) -> Iterator[Edit]:
    """Move a value with the difference that follows from it, or over a limit with its class."""
    parts = list(stated_parts(reading))
    used = [site.start for own, other, _, _ in parts for site in (own, other)]
    for own, other, gap, percent in parts:
        for (change,) in moved(reading, rng, (own,)) if used.count(own.start) == 1 else ():
            result = difference(float(change.after), float(other.digits), percent=percent)
            after = gap.saying(result, gap.decimals)
            same = gap.known.class_of(result) == gap.known.class_of(gap.known.value)
            if result * gap.known.value > 0 and same and reading.admits(gap, after):
                yield change, _number(gap, after)
    for start, site, _ in class_words(reading):
        known, named = site.known, site.known.class_of(site.known.value)
        for limit, pair in zip(known.limits, pairwise(known.classes or ()), strict=True):
            share = rng.uniform(1.05, 1.35) if abs(known.value) < limit else rng.uniform(0.65, 0.95)
            after = site.saying(limit * share * (-1 if known.value < 0 else 1), site.decimals)
            key = known.class_of(float(after))
            free = reading.admits(site, after) and not _follows(reading, site)
            for (change,) in _named(reading, start, key, known):
                if {key, named} == set(pair) and free:
                    yield _number(site, after), change


def _follows(reading: Reading, site: Site) -> bool:
    """Whether two other numbers of the text give a site's, and would disagree with it moved."""
    value, near = abs(site.known.value), 0.6 * 10.0**-site.decimals
    values = {item.value for item in numbers(reading.text) if not item.states(value)} - {0}
    return any(
        abs(abs(difference(own, other, percent=percent)) - value) <= near
        for own, other in permutations(values, 2)
        for percent in (False, True)
    )


SETS: dict[str, dict[str, Kind]] = {
    "plain": {
        "moved": moved,
        "other run": partial(other_run, fewer=0),
        "sign": turned_sign,
        "direction": direction,
        "class": partial(other_class, near=False),
    },
    "harder": {
        ROUNDED: partial(other_run, fewer=1),
        "agreeing": agreeing,
        "class at its limit": partial(other_class, near=True),
        PARTS: wrong_difference,
    },
}


def draw(
    reading: Reading, kinds: Mapping[str, Kind], so_far: Counter[str], rng: Random
) -> list[tuple[str, Change]]:
    """Take two errors that a text admits, of the kinds that are rarest so far; fewer if need be.

    In two sentences where there are, of two values, and none that spoils the parts of another.
    """
    edits = [(name, edit) for name, kind in kinds.items() for edit in kind(reading, rng)]
    rng.shuffle(edits)
    taken: list[tuple[str, Change]] = []

    def fits(name: str, edit: Edit) -> bool:
        values = {change.known.value for _, change in taken}
        spoils = {PARTS, ROUNDED} <= {name, *(kind for kind, _ in taken)}
        apart = not any(change.known.value in values for change in edit)
        return apart and not spoils and len(edit) + len(taken) <= 2

    def rank(item: tuple[str, Edit]) -> tuple[bool, int]:
        places = [change.start for change in item[1]], [change.start for _, change in taken]
        shared = any(
            all(any(start <= at < end for at in starts) for starts in places)
            for start, end in sentences(reading.text)
        )
        return shared, so_far[item[0]]

    while fitting := [item for item in edits if fits(*item)]:
        name, edit = min(fitting, key=rank)
        so_far[name] += len(edit)
        taken += [(name, change) for change in edit]
    return sorted(taken, key=lambda item: item[1].start)


def write(text: str, changes: list[tuple[str, Change]]) -> tuple[str, tuple[Plant, ...]]:
    """Write errors, in the order of the text, into it: the text, and where they stand in it."""
    made, plants, at = "", [], 0
    for kind, (start, before, after, known) in changes:
        made += text[at:start]
        at = start + len(before)
        decided = {"runs": known.runs, "output": known.output, "value": round(known.value, 9)}
        words = {"kind": kind, "start": len(made), "before": before, "after": after}
        plants.append(Plant.model_validate({**words, **decided}))
        made += after
    return made + text[at:], tuple(plants)
