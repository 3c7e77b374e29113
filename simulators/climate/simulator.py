"""The climate simulator behind the common protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from simulators.base import (
    NOT_RUN,
    ArgumentError,
    Tool,
    ToolModel,
    code_files,
    engine_version,
    files_fingerprint,
    render_handbook,
)
from simulators.climate.tools import climate_tools

Backend = Literal["physics", "emulator"]
Version = Literal["recorded", "published-like"]

_HERE = Path(__file__).parent
_ASSETS = ("cities.tsv.gz", "countries.tsv", "fields.npz", "responses.npz", "states.tsv")


class ClimateSimulator:
    """Annual mean temperature of places from 1850 to 2100, by FaIR and pattern scaling.

    ``backend`` says who projects 2015-2100 at a place: the physics, or the emulator trained on it.
    ``version``: ``recorded`` warms as FaIR does, assessed by the IPCC; ``published-like`` as the
    published SimulRAG records do, about half of it (physics only).
    Deterministic: the seed plays no part, ranges come from the members of an ensemble. Raises
    ArgumentError for another backend, MissingEngineError where the emulator cannot run.
    """

    name = "climate"
    oracle = False

    def __init__(
        self,
        backend: Backend = "physics",
        version: Version = "recorded",
    ) -> None:
        for name, given, known in (("backend", backend, Backend), ("version", version, Version)):
            if given not in get_args(known):
                raise ArgumentError(
                    f"{name} of climate is '{given}': take one of {', '.join(get_args(known))}"
                )
        if backend == "emulator" and version != "recorded":
            raise ArgumentError(
                f"the emulator was not trained on version '{version}': take backend: physics"
            )
        self._backend, self._version = backend, version
        self.tools: Mapping[str, Tool] = climate_tools()

    def handbook(self) -> str:
        """Return prose and parameter tables, as Markdown."""
        prose = _read("handbook.md")
        if self._version == "published-like":
            prose += _read("handbook_published_like.md")
        return render_handbook(prose, self.tools)

    def guide(self) -> str:
        """Return questions worth asking, for whoever writes a benchmark."""
        return _read("guide.md")

    def run(self, tool: str, arguments: ToolModel, seed: int) -> ToolModel:  # noqa: ARG002
        """Run one tool. Raises ArgumentError, also for a city that is unknown or ambiguous."""
        if tool not in self.tools:
            raise ArgumentError(
                f"climate has no tool '{tool}'; its tools are: {', '.join(self.tools)}"
            )
        wanted = self.tools[tool].arguments
        if not isinstance(arguments, wanted):
            raise ArgumentError(
                f"climate.{tool} takes {wanted.__name__}, not {type(arguments).__name__}"
            )
        # Late: the handbook and the checks of arguments need neither numpy nor the assets.
        from simulators.climate.answers import answer

        return answer(
            tool,
            arguments,
            by_emulator=self._backend == "emulator",
            published_like=self._version == "published-like",
        )

    def fingerprint(self) -> str:
        """Hash the code that decides results and the assets; the emulator's where it is used."""
        files = [
            *code_files(_HERE, without=(*NOT_RUN, "emulator")),
            *(_HERE / "assets" / name for name in _ASSETS),
        ]
        if self._backend == "physics":
            return files_fingerprint(files, *self._version.removeprefix("recorded").split())
        files += [*code_files(_HERE / "emulator"), _HERE / "assets" / "emissions.csv"]
        files.append(_HERE / "weights" / "emulator.npz")
        return files_fingerprint(files, engine_version("torch"))

    def examples(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """Return calls to try the tools with."""
        place: dict[str, object] = {"latitude": 48.9, "longitude": 2.4}
        later = {"year": 2060, "scenario": "ssp245"}
        gases = {"delta_CO2": -20.0, "delta_CH4": 10.0}
        aerosols = {"delta_SO2": -30.0, "delta_BC": 20.0}
        region = {**aerosols, "city_name": "Delhi", "modify_points": [[77.2, 28.6]]}
        return {
            "query_lat_and_lon": [{"city_name": "Berlin, Germany"}],
            "history_temperature": [{**place, "year": 1990}, {"city_name": "Lima", "year": 1990}],
            "future_temperature": [{**place, **later}, {**later, "city_name": "Lima"}],
            "diy_greenhouse": [
                {**place, **later, **gases},
                {**later, **gases, "city_name": "Lima"},
            ],
            "diy_aerosol": [
                {**later, **aerosols, **place, "modify_points": [[2.4, 48.9]]},
                {**later, **region},
            ],
            "diff_diy_aerosol_mean": [
                {**later, **aerosols, **place, "modify_points": [[2.4, 48.9]]},
                {**later, **region},
            ],
            "is_land_or_sea": [place, {"latitude": 0.0, "longitude": 0.0}, {"city_name": "Lima"}],
            "global_temperature": [{**later, **gases, **aerosols}, {"year": 1990}],
        }


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
