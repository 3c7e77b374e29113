"""The sections of the report's two pages, in their order.

To show a new family of metrics: a ``ReportSection`` in a module here, and a place in ``METHODS``.
A room brings its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from flows.hooks import rooms
from flows.report.blocks import ReportSection
from flows.report.sections import (
    answers,
    benchmark,
    calibration,
    claims,
    cost,
    history,
    overview,
    recipes,
)

FIRST: tuple[ReportSection, ...] = (overview.SECTION,)
"""What a reader sees first; one answer and the questions one by one (``traces.py``) follow."""
BELOW: tuple[ReportSection, ...] = (recipes.SECTION, history.SECTION, overview.SOURCES)
"""What each way to answer costs and is worth, the refreshes so far, where numbers come from."""
METHODS: tuple[ReportSection, ...] = (
    answers.SECTION,
    claims.SECTION,
    calibration.SECTION,
    calibration.BOUNDARY,
    benchmark.DOCUMENTS,
    benchmark.SECTION,
    cost.SECTION,
    calibration.PEOPLE,
    benchmark.PUBLISHED,
)
"""The second page, for those who study methods; the rooms' sections stand there too."""


def sections() -> Iterator[ReportSection]:
    """Iterate over all of them, the rooms' after those that they name.

    Raises ValueError where a room's section names none that is there.
    """
    brought = [part.section for part in rooms().hook.report_part()]
    places = {own.key for own in METHODS}
    for section in brought:
        if section.after not in places:
            raise ValueError(
                f"the section {section.key} stands after {section.after!r}, which is none of "
                f"{', '.join(sorted(places))}"
            )
    for own in (*FIRST, *BELOW, *METHODS):
        yield own
        yield from (section for section in brought if section.after == own.key)
