"""The epidemiology simulator: an influenza season in the states of the USA, as one tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

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
from simulators.epidemiology.arguments import ForecastArguments, check_memory
from simulators.epidemiology.disease import DISEASE, Measures
from simulators.epidemiology.places import load_places
from simulators.epidemiology.summary import ForecastOutputs, outputs

if TYPE_CHECKING:
    from simulators.epidemiology.ensemble import Conditions

HERE = Path(__file__).parent
TOOL = "forecast"
DEFAULT_MEMBERS = 100
Backend = Literal["mechanistic", "emulator"]
_ASSETS = ("assets/contacts.csv", "assets/places.csv")


class EpidemiologySimulator:
    """Seasonal influenza in 50 states and the District of Columbia, stochastic and by age.

    ``members``: size of the ensemble where a call names none. ``backend``: ``mechanistic`` runs
    the chain binomial, ``emulator`` the neural process trained on it, much faster.
    """

    name = "epidemiology"
    oracle = False

    def __init__(
        self,
        *,
        members: int = DEFAULT_MEMBERS,
        backend: Backend = "mechanistic",
    ) -> None:
        if members < 2:
            raise ArgumentError(f"members of the epidemiology simulator is {members}: at least 2")
        if backend not in get_args(Backend):
            raise ArgumentError(
                f"backend of the epidemiology simulator is '{backend}': take one of "
                + ", ".join(get_args(Backend))
            )
        self._members = members
        self._backend = backend
        forecast = Tool(
            name=TOOL,
            description=(
                "Forecast of one influenza season: initial trend and speed, peak severity, "
                "peak timing and total burden, summed over the named states."
            ),
            arguments=ForecastArguments,
            outputs=ForecastOutputs,
            template=(HERE / "forecast.j2").read_text(encoding="utf-8"),
        )
        self.tools: Mapping[str, Tool] = {TOOL: forecast}

    def handbook(self) -> str:
        """Return prose and parameter tables, as Markdown."""
        prose = (HERE / "handbook.md").read_text(encoding="utf-8")
        return render_handbook(prose, self.tools)

    def guide(self) -> str:
        """Return questions worth asking, for whoever writes a benchmark."""
        return (HERE / "guide.md").read_text(encoding="utf-8")

    def run(self, tool: str, arguments: ToolModel, seed: int) -> ToolModel:
        """Forecast one scenario. Deterministic in (arguments, seed). Raises ArgumentError."""
        if tool not in self.tools:
            raise ArgumentError(f"epidemiology has one tool, '{TOOL}', not '{tool}'")
        if not isinstance(arguments, ForecastArguments):
            raise ArgumentError(
                f"epidemiology.{TOOL} takes ForecastArguments, not {type(arguments).__name__}"
            )
        members = arguments.members or self._members
        check_memory(members, 7 * arguments.horizon_weeks)
        first = arguments.seed if arguments.seed is not None else seed % 2**31
        names = load_places().names
        chosen = [names.index(state) for state in arguments.states]
        series = self._series(_conditions(arguments), chosen, members, first)
        return outputs(arguments, series)

    def fingerprint(self) -> str:
        """Hash of the code and facts that decide results, the default size and the engines."""
        files = [*code_files(HERE, without=(*NOT_RUN, "emulator")), *(HERE / a for a in _ASSETS)]
        engines = ["numpy", "numba"]
        if self._backend == "emulator":
            files += [*code_files(HERE / "emulator"), HERE / "weights" / "emulator.npz"]
            engines += ["scipy", "torch"]
        words = [f"members {self._members}", *map(engine_version, engines)]
        return files_fingerprint(files, *words)

    def examples(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """Calls to try the tool with."""
        season = {"start_date": "2022-10-05", "r0": 1.9, "prior_immunity_percent": 30}
        small = {"members": 4, "metric": "hospital incidence"}
        both = {"per_state": True, "daily": True, "school_closure_weeks": 6}
        return {
            TOOL: [
                {**season, **small, "states": ["Ohio"], "seasonality": "moderate"},
                {**season, **small, **both, "states": ["Ohio", "VT"], "seasonality": 0.2},
            ]
        }

    def _series(
        self, conditions: Conditions, chosen: list[int], members: int, seed: int
    ) -> NDArray[np.int64]:
        """(member, day, named state)."""
        # Late: numba costs half a second and torch three, and who reads the handbook needs neither.
        if self._backend == "emulator":
            from simulators.epidemiology.emulator import emulate, load_emulator

            return emulate(load_emulator(), [conditions], [chosen], members, seed)[0]
        from simulators.epidemiology.ensemble import run_ensemble

        return run_ensemble(conditions, range(members), seed)[:, :, chosen]


def _conditions(arguments: ForecastArguments) -> Conditions:
    from simulators.epidemiology.ensemble import Conditions

    drops = {"none": 0.0, "moderate": DISEASE.moderate_drop, "high": DISEASE.high_drop}
    asked = arguments.seasonality
    return Conditions(
        start=date.fromisoformat(arguments.start_date),
        r0=arguments.r0,
        drop=drops[asked] if isinstance(asked, str) else asked,
        prior_immunity_percent=arguments.prior_immunity_percent,
        metric=arguments.metric,
        days=7 * arguments.horizon_weeks,
        measures=Measures(
            **{part.name: getattr(arguments, part.name) for part in fields(Measures)}
        ),
    )
