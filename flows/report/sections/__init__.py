"""The sections of the report, in the order of the page.

To show a new family of metrics: a ``ReportSection`` in a module here, and a place in ``OWN``.
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
)

OWN: tuple[ReportSection, ...] = (
    overview.SECTION,
    history.SECTION,
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
"""The questions one by one (``traces.py``) end the page."""


def sections() -> Iterator[ReportSection]:
    """Iterate over all of them, the rooms' after those that they name.

    Raises ValueError where a room's section names none that is there.
    """
    brought = [part.section for part in rooms().hook.report_part()]
    places = {own.key for own in OWN}
    for section in brought:
        if section.after not in places:
            raise ValueError(
                f"the section {section.key} stands after {section.after!r}, which is none of "
                f"{', '.join(sorted(places))}"
            )
    for own in OWN:
        yield own
        yield from (section for section in brought if section.after == own.key)
