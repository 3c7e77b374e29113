"""The sections of the report, in the order of the page.

To show a new family of metrics: a module with ``SECTION`` here, and a place in ``SECTIONS``.
"""

from __future__ import annotations

from simulrag.report.blocks import Section
from simulrag.report.sections import (
    answers,
    attribution,
    benchmark,
    boundary,
    calibration,
    claims,
    cost,
    documents,
    forms,
    overview,
    people,
    published,
    routing,
    score,
)

SECTIONS: tuple[Section, ...] = (
    overview.SECTION,
    answers.SECTION,
    claims.SECTION,
    calibration.SECTION,
    boundary.SECTION,
    attribution.SECTION,
    routing.SECTION,
    documents.SECTION,
    forms.SECTION,
    score.SECTION,
    benchmark.SECTION,
    cost.SECTION,
    people.SECTION,
    published.SECTION,
)
"""The questions one by one (``traces.py``) end the page."""
