"""do(X = 0) executed: the simulator really runs without the intervention.

The one counterfactual of this room that no language model imagines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import JsonValue

from rooms.attribution.chances import ChanceEstimate, Chances
from simulators.base import SimulatorError, Tool, validate_call
from simulrag.records import Evidence

if TYPE_CHECKING:
    from simulrag.method.simulation import Simulations


@dataclass(frozen=True)
class Rerun:
    """A run's evidence beside its counterfactual's (None: it failed, see ``failure``).

    ``differences``: a claim each, the chance by the run's output less the chance by the baseline's
    (-1 to 1); empty where the counterfactual failed.
    """

    evidence: Evidence
    baseline: Evidence | None
    differences: tuple[ChanceEstimate, ...] = ()
    failure: str | None = None


async def rerun(
    evidence: Evidence, claims: int, chances: Chances, simulations: Simulations
) -> Rerun:
    """What the arguments of one run do for each of ``claims`` claims.

    The same tool and seed with the tool's own defaults, where it has any. A counterfactual equal to
    the run gives exactly 0 and costs nothing; one that fails gives no value. Raises ModelError as
    ``chances`` does.
    """
    if simulations.simulator.oracle:
        return Rerun(evidence, None, failure="its evidence was looked up, there is nothing to run")
    try:
        tool = simulations.simulator.tools[evidence.call.tool]
        wanted = baseline_arguments(tool, evidence.call.arguments)
        plain = validate_call(simulations.simulator, tool.name, wanted).model_dump(mode="json")
        if plain == evidence.call.arguments:
            return Rerun(evidence, evidence, (ChanceEstimate(0.0),) * claims)
        baseline = await simulations.run(tool.name, wanted, evidence.seed)
    except KeyError:
        reason = f"{simulations.simulator.name} has no tool '{evidence.call.tool}' to run again"
        return Rerun(evidence, None, failure=reason)
    except SimulatorError as error:
        return Rerun(evidence, None, failure=f"the counterfactual run failed: {error}")
    await chances.prepare([evidence.text, baseline.text])
    pairs = ((chances.of(evidence.text, i), chances.of(baseline.text, i)) for i in range(claims))
    return Rerun(evidence, baseline, tuple(_difference(*pair) for pair in pairs))


def baseline_arguments(tool: Tool, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The arguments that a call cannot do without; the others take the tool's defaults."""
    required = tool.arguments.model_json_schema().get("required", [])
    return {name: arguments[name] for name in required if name in arguments}


def _difference(run: ChanceEstimate, baseline: ChanceEstimate) -> ChanceEstimate:
    if run.chance is None or baseline.chance is None:
        return ChanceEstimate(None, run.reason or baseline.reason)
    return ChanceEstimate(run.chance - baseline.chance)
