"""What to say where a question sets two cases side by side ('one in Rome, the other in Oslo')."""

from __future__ import annotations

from simulrag.models.offline import priors
from simulrag.models.offline.points import CASE_GRIDS, DEGREE_GRIDS, Point, classes_for
from simulrag.models.offline.priors import Expectation
from simulrag.models.offline.situations import read_climate, read_influenza
from simulrag.models.offline.wording import capitalised
from simulrag.statements import case_pair

LEAST_SPREAD_PERCENT = 10.0


def two_places(question: str) -> list[Point]:
    """The difference of two temperatures and which of the cases is warmer; [] for one case."""
    cases = case_pair(question)
    if cases is None:
        return []
    one, two = (priors.climate(read_climate(text)) for text in cases.texts)
    levels = one["baseline"], two["baseline"]
    apart = Expectation(levels[1].mean - levels[0].mean, 0.5)
    kind = "scenarios" if "ssp" in cases.words[0] else "cities"
    if kind == "cities":  # nothing is known of either: any difference of where people live
        apart = Expectation(0.0, levels[0].spread)
    first, second = cases.words
    orders = tuple(
        f"{capitalised(more)} it would be warmer than {less}."
        for more, less in ((second, first), (first, second))
    )
    noun = f"the temperature difference between the two {kind}"
    classes = classes_for(question, "temperature difference")
    return [
        Point("difference", noun, apart, "size", "°C", DEGREE_GRIDS, classes=classes),
        Point("difference", "", apart, "order", grids=DEGREE_GRIDS, names=orders),
    ]


def two_seasons(question: str) -> list[Point]:
    """The peak of each season and the change from the first to the second; [] for one season."""
    cases = case_pair(question)
    if cases is None:
        return []
    seasons = [read_influenza(text) for text in cases.texts]
    peaks = [priors.influenza(season)["peak"] for season in seasons]
    noun = f"the median peak of hospital {seasons[0].metric}"
    change = 100 * (peaks[1].mean / peaks[0].mean - 1)
    apart = Expectation(change, max(LEAST_SPREAD_PERCENT, 0.25 * abs(change)))
    found = [
        Point(f"peak {words}", f"{noun} {words}", peak, "level", " cases", CASE_GRIDS, low=1.0)
        for words, peak in zip(cases.words, peaks, strict=True)
    ]
    classes = classes_for(question, noun)
    return [*found, Point("peaks", noun, apart, classes=classes, low=-99.0)]
