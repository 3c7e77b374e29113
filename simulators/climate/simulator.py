"""The climate simulator behind the common protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, get_args

from simulators.base import ArgumentError, Tool, ToolModel, files_fingerprint, render_handbook
from simulators.climate import answers, arguments, outputs
from simulators.climate.loading import ASSET_FILES, ASSETS

Backend = Literal["physics", "emulator"]

_HERE = Path(__file__).parent
_CODE = (
    "aerosols.py",
    "answers.py",
    "arguments.py",
    "cities.py",
    "city_names.py",
    "grids.py",
    "loading.py",
    "outputs.py",
    "simulator.py",
    "temperature.py",
    "warming.py",
)
"""What decides a result. The handbook and the text templates do not."""


@dataclass(frozen=True)
class _Entry:
    tool: Tool
    answer: Callable[[Any], ToolModel]


class ClimateSimulator:
    """Annual mean temperature of places from 1850 to 2100, by FaIR and pattern scaling.

    ``backend`` says who projects 2015-2100 at a place: the physics, or the emulator trained on it.
    Deterministic: the seed plays no part, ranges come from the members of an ensemble. Raises
    ArgumentError for another backend, MissingEngineError where the emulator cannot run.
    """

    name = "climate"
    oracle = False

    def __init__(self, backend: Backend = "physics") -> None:
        if backend not in get_args(Backend):
            raise ArgumentError(
                f"backend of climate is '{backend}': take one of {', '.join(get_args(Backend))}"
            )
        self._backend = backend
        self._entries = _entries(answers.PHYSICS if backend == "physics" else _emulator())

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name."""
        return {name: entry.tool for name, entry in self._entries.items()}

    def handbook(self) -> str:
        """Prose and parameter tables, as Markdown."""
        return render_handbook(_read("handbook.md"), self.tools)

    def run(self, tool: str, arguments: ToolModel, seed: int) -> ToolModel:  # noqa: ARG002
        """Run one tool. Raises ArgumentError, also for a city that is unknown or ambiguous."""
        if tool not in self._entries:
            raise ArgumentError(
                f"climate has no tool '{tool}'; its tools are: {', '.join(self._entries)}"
            )
        entry = self._entries[tool]
        if not isinstance(arguments, entry.tool.arguments):
            raise ArgumentError(
                f"climate.{tool} takes {entry.tool.arguments.__name__}, not "
                f"{type(arguments).__name__}"
            )
        return entry.answer(arguments)

    def fingerprint(self) -> str:
        """Hash of the code that decides results and of the assets; of the emulator where used."""
        if self._backend == "physics":
            return _fingerprint()
        from simulators.climate import emulator

        return files_fingerprint([], _fingerprint(), emulator.fingerprint())


def _emulator() -> answers.Projections:
    from simulators.climate.emulator import emulator

    return emulator()


def _entries(projections: answers.Projections) -> dict[str, _Entry]:
    listed = (
        (
            "query_lat_and_lon",
            "Latitude and longitude of a city. The other tools take a city_name themselves.",
            arguments.CityQuery,
            outputs.CityFound,
            answers.city,
        ),
        (
            "history_temperature",
            "Annual mean temperature of a place in a year from 1850 to 2014.",
            arguments.History,
            outputs.Temperature,
            answers.history,
        ),
        (
            "future_temperature",
            "Annual mean temperature of a place in a year from 2015 to 2100 under a scenario: the "
            "baseline, without any intervention.",
            arguments.Future,
            outputs.Temperature,
            partial(answers.future, projections=projections),
        ),
        (
            "diy_greenhouse",
            "The same with changed CO2 and CH4 emissions of the whole world, beside the baseline.",
            arguments.Greenhouse,
            outputs.ChangedTemperature,
            partial(answers.greenhouse, projections=projections),
        ),
        (
            "diy_aerosol",
            "The same with changed SO2 and black carbon emissions around given points, beside the "
            "baseline.",
            arguments.Aerosol,
            outputs.AerosolTemperature,
            partial(answers.aerosol, projections=projections),
        ),
        (
            "diff_diy_aerosol_mean",
            "Only what an aerosol change around given points does to the global mean temperature, "
            "and to that of the place.",
            arguments.Aerosol,
            outputs.AerosolDifference,
            partial(answers.aerosol_difference, projections=projections),
        ),
        (
            "is_land_or_sea",
            "Whether a place is on land or at sea. A named city is on land.",
            arguments.Place,
            outputs.Surface,
            answers.surface,
        ),
        (
            "global_temperature",
            "Global mean warming above 1850-1900 in a year, with changes of the whole world's "
            "emissions if any.",
            arguments.Global,
            outputs.GlobalWarming,
            answers.global_warming,
        ),
    )
    return {
        name: _Entry(
            Tool(name, description, taken, given, _read("wording.j2") + _read(f"{name}.j2")), answer
        )
        for name, description, taken, given, answer in listed
    }


@lru_cache(maxsize=16)
def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _fingerprint() -> str:
    code = [_HERE / name for name in _CODE]
    return files_fingerprint([*code, *(ASSETS / name for name in ASSET_FILES)])
