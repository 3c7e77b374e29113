"""A simulator of a user's own, of a field that no rule of the offline model knows.

A drug that is swallowed passes into blood and tissue: two compartments and a gut, by Euler steps.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from simulators.base import Tool, ToolModel, files_fingerprint, render_handbook

STEP_HOURS = 0.05
HOURS = 48
LITRES = 20.0
ABSORBED, CLEARED, TO_TISSUE, TO_BLOOD = 1.0, 0.2, 0.4, 0.3
"""Rates per hour."""

_CLEARANCE = "clearance by the kidneys against a healthy adult's"


class DoseArguments(ToolModel):
    """One dose."""

    dose_mg: float = Field(
        ge=50, le=1000, description="dose swallowed at once", json_schema_extra={"unit": "mg"}
    )
    clearance_factor: float = Field(
        1.0, ge=0.3, le=2.0, description=_CLEARANCE, json_schema_extra={"unit": "factor"}
    )


class DoseOutputs(ToolModel):
    """What one dose does."""

    peak_blood_mg_per_l: float = Field(
        description="highest concentration in blood", json_schema_extra={"unit": "mg/l"}
    )
    peak_tissue_mg_per_l: float = Field(
        description="highest concentration in tissue", json_schema_extra={"unit": "mg/l"}
    )
    hours_above_threshold: float = Field(
        description="hours with blood above 2 mg/l, the level that works",
        json_schema_extra={"unit": "hours"},
    )


class ClearanceArguments(ToolModel):
    """Another clearance."""

    clearance_factor: float = Field(
        ge=0.3, le=2.0, description=_CLEARANCE, json_schema_extra={"unit": "factor"}
    )


class ClearanceOutputs(ToolModel):
    """What another clearance changes."""

    exposure_change_percent: float = Field(
        description="change in exposure of the blood", json_schema_extra={"unit": "percent"}
    )
    tissue_load_change_percent: float = Field(
        description="change in tissue load", json_schema_extra={"unit": "percent"}
    )


class Dose:
    """Implements ``simulators.base.Simulator``."""

    name = "dose"
    oracle = False

    def __init__(self) -> None:
        self.tools = {
            "single_dose": Tool(
                name="single_dose",
                description="Concentrations after one dose.",
                arguments=DoseArguments,
                outputs=DoseOutputs,
                template=(
                    "After a dose of {{ arguments.dose_mg }} mg at "
                    "{{ arguments.clearance_factor }} times the usual clearance, the highest "
                    "concentration in blood is {{ outputs.peak_blood_mg_per_l }} mg/l, the highest "
                    "concentration in tissue is {{ outputs.peak_tissue_mg_per_l }} mg/l and the "
                    "time above the threshold is {{ outputs.hours_above_threshold }} hours."
                ),
            ),
            "clearance_effect": Tool(
                name="clearance_effect",
                description="What another clearance does to a dose of 500 mg.",
                arguments=ClearanceArguments,
                outputs=ClearanceOutputs,
                template=(
                    "At {{ arguments.clearance_factor }} times the usual clearance, exposure of "
                    "the blood changes by {{ outputs.exposure_change_percent }} percent and "
                    "tissue load changes by {{ outputs.tissue_load_change_percent }} percent."
                ),
            ),
        }

    def handbook(self) -> str:
        """All that a model knows of it."""
        return render_handbook("# A drug in the body\n\nBlood and tissue.", self.tools)

    def run(self, tool: str, arguments: ToolModel, seed: int) -> ToolModel:
        """The outputs of one call; ``seed`` has no part in them."""
        if isinstance(arguments, DoseArguments):
            blood, tissue = _course(arguments.dose_mg, arguments.clearance_factor)
            above = STEP_HOURS * sum(level > 2 for level in blood)
            return DoseOutputs(
                peak_blood_mg_per_l=round(max(blood), 2),
                peak_tissue_mg_per_l=round(max(tissue), 2),
                hours_above_threshold=round(above, 1),
            )
        assert isinstance(arguments, ClearanceArguments)
        usual = _course(500.0, 1.0)
        other = _course(500.0, arguments.clearance_factor)
        blood_percent, tissue_percent = (
            round(100 * (sum(new) / sum(old) - 1), 1) for new, old in zip(other, usual, strict=True)
        )
        return ClearanceOutputs(
            exposure_change_percent=blood_percent, tissue_load_change_percent=tissue_percent
        )

    def fingerprint(self) -> str:
        """This file."""
        return files_fingerprint([Path(__file__)], "")


def _course(dose_mg: float, clearance_factor: float) -> tuple[list[float], list[float]]:
    """Concentrations in blood and tissue at every step, in mg/l."""
    gut, blood, tissue = dose_mg, 0.0, 0.0
    course: tuple[list[float], list[float]] = ([], [])
    for _ in range(round(HOURS / STEP_HOURS)):
        absorbed = STEP_HOURS * ABSORBED * gut
        exchanged = STEP_HOURS * (TO_TISSUE * blood - TO_BLOOD * tissue)
        cleared = STEP_HOURS * CLEARED * clearance_factor * blood
        gut -= absorbed
        blood += absorbed / LITRES - cleared - exchanged
        tissue += exchanged
        course[0].append(blood)
        course[1].append(tissue)
    return course
