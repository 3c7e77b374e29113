"""The urban simulator: the corridor (or a user's network) behind the common protocol."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import lru_cache
from pathlib import Path

from simulators.base import (
    ArgumentError,
    Tool,
    ToolModel,
    code_files,
    compiled,
    files_fingerprint,
    render_handbook,
)
from simulators.urban import engine
from simulators.urban.interventions import (
    MOST_REPLICATES,
    ComparisonOutputs,
    Interventions,
    ScenarioOutputs,
    comparison_outputs,
    interventions_with,
    replicate_seed,
    scenario_outputs,
)
from simulators.urban.own_network import OwnNetwork
from simulators.urban.runs import BASELINE, Measures, Setting, Workplace, run_corridor

_HERE = Path(__file__).parent

_baselines: dict[tuple[str, int], Future[Measures]] = {}
_baselines_lock = threading.Lock()


class UrbanSimulator:
    """Speed limits, demand, lanes and a signal on a downtown corridor, by SUMO.

    ``cache_dir``: built networks (default ``$XDG_CACHE_HOME/simulrag/urban``). ``timeout_s``: of
    one SUMO process. ``run_log``: a file that gets one JSON line a SUMO run (also the variable
    SIMULRAG_URBAN_RUN_LOG). ``sumocfg``, ``edges``, ``signal``: a network of your own.
    ``replicates``: runs with other drivers (1 to 20) whose mean a call reports, unless it asks for
    more. Only the last four change results.
    """

    name = "urban"
    oracle = False

    def __init__(
        self,
        *,
        cache_dir: str | Path | None = None,
        timeout_s: float = 120.0,
        run_log: str | Path | None = None,
        sumocfg: str | Path | None = None,
        edges: Sequence[str] = (),
        signal: str | None = None,
        replicates: int = 1,
    ) -> None:
        if not timeout_s > 0:
            raise ArgumentError(f"timeout_s of the urban simulator is {timeout_s}: it must be > 0")
        if isinstance(edges, str):
            raise ArgumentError(
                f"edges of the urban simulator is a list of edge ids, not '{edges}'"
            )
        if sumocfg is None and (edges or signal):
            raise ArgumentError("edges and signal belong to a network of your own: set sumocfg too")
        if isinstance(replicates, bool) or replicates not in range(1, MOST_REPLICATES + 1):
            raise ArgumentError(
                f"replicates of the urban simulator is {replicates}: a whole number from 1 to "
                f"{MOST_REPLICATES}"
            )
        self.workplace = Workplace(
            cache_dir=Path(cache_dir) if cache_dir else _default_cache(),
            timeout_s=timeout_s,
            run_log=Path(run_log) if run_log else None,
        )
        self._own = OwnNetwork(Path(sumocfg), tuple(edges), signal) if sumocfg else None
        self.replicates = replicates
        self.tools: Mapping[str, Tool] = _tools(interventions_with(replicates))

    def handbook(self) -> str:
        """Return prose and parameter tables, as Markdown."""
        prose = _read("handbook.md")
        if self._own is not None:
            prose = compiled(_read("handbook_own_network.md.j2")).render(own=self._own)
        return render_handbook(prose, self.tools)

    def run(self, tool: str, arguments: ToolModel, seed: int) -> ToolModel:
        """Run one tool. Deterministic in (tool, arguments, seed). Raises SimulatorError."""
        if tool not in self.tools:
            raise ArgumentError(
                f"urban has no tool '{tool}'; its tools are: {', '.join(self.tools)}"
            )
        if not isinstance(arguments, Interventions):
            raise ArgumentError(f"urban.{tool} takes Interventions, not {type(arguments).__name__}")
        setting = Setting(**arguments.model_dump(exclude={"seed", "replicates"}))
        first = arguments.seed if arguments.seed is not None else seed % 2**31
        seeds = [replicate_seed(first, index) for index in range(arguments.replicates)]
        scenario = [self._measures(setting, drawn) for drawn in seeds]
        if tool == "run_scenario":
            return scenario_outputs(scenario)
        baseline = [self._measures(BASELINE, drawn) for drawn in seeds]
        return comparison_outputs(baseline, scenario)

    def fingerprint(self) -> str:
        """Hash the code that decides results, the engine's version and the user's files."""
        own = self._own.fingerprint() if self._own else "corridor"
        repeated = [f"replicates {self.replicates}"] * (self.replicates > 1)
        return files_fingerprint([], _code_hash(), engine.identity(), own, *repeated)

    def examples(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """Return calls to try the tools with."""
        calls: list[dict[str, object]] = [{"speed_factor": 0.8}, {"demand_factor": 1.1}]
        return {tool: [*calls, {"replicates": self.replicates + 1}] for tool in self.tools}

    def _measures(self, setting: Setting, seed: int) -> Measures:
        """Run once; the baseline of a seed is simulated once a process."""
        if setting != BASELINE:
            return self._simulate(setting, seed)
        key = (self.fingerprint(), seed)
        with _baselines_lock:
            future = _baselines.get(key)
            mine = future is None
            if future is None:
                future = _baselines[key] = Future()
        if mine:
            try:
                future.set_result(self._simulate(setting, seed))
            except BaseException as error:
                with _baselines_lock:
                    del _baselines[key]
                future.set_exception(error)
        return future.result()

    def _simulate(self, setting: Setting, seed: int) -> Measures:
        if self._own is not None:
            return self._own.run(setting, seed, self.workplace)
        return run_corridor(setting, seed, self.workplace)


def _tools(arguments: type[Interventions]) -> dict[str, Tool]:
    return {
        "run_scenario": Tool(
            name="run_scenario",
            description="Simulate one intervention set and report its traffic and emissions.",
            arguments=arguments,
            outputs=ScenarioOutputs,
            template=_template("run_scenario.j2"),
        ),
        "compare_with_baseline": Tool(
            name="compare_with_baseline",
            description=(
                "Simulate one intervention set and today's road with the same drivers, and report "
                "both with the changes in percent of the baseline."
            ),
            arguments=arguments,
            outputs=ComparisonOutputs,
            template=_template("compare_with_baseline.j2"),
        ),
    }


@lru_cache(maxsize=8)
def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _template(name: str) -> str:
    """Read a tool's template, with the sentence on the interventions that both begin with."""
    return _read("conditions.j2") + _read(name)


@lru_cache(maxsize=1)
def _code_hash() -> str:
    return files_fingerprint(code_files(_HERE))


def _default_cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "simulrag" / "urban"
