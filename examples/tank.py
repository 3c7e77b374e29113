"""A simulator of one's own in a script or a notebook: the base install is enough.

python tank.py                     a stand-in answers: the run is real, its words mean nothing
python tank.py openai:gpt-5-mini   a model of yours, with its key in the environment
"""

import sys
from collections.abc import Mapping

from simulators.base import Tool, ToolModel, measured, render_handbook
from simulrag import AnswerNow, Budget, answer
from simulrag.errors import SimulRAGError

QUESTION = "A tank holds 3 m of water. How many minutes does it drain through a hole of 5 cm2?"


class Drain(ToolModel):
    height_m: float = measured("m", "height of the water at the start", ge=0.1, le=10)
    hole_cm2: float = measured("cm2", "area of the hole in the bottom", ge=0.1, le=50)


class Drained(ToolModel):
    minutes_until_empty: float = measured("min", "minutes until the tank is empty")


class Tank:
    name, oracle = "tank", False
    tools: Mapping[str, Tool] = {
        "drain": Tool(
            name="drain",
            description="How long a tank with a ground of 1 m2 drains (Torricelli).",
            arguments=Drain,
            outputs=Drained,
            template="{{ arguments.height_m }} m of water drain through {{ arguments.hole_cm2 }} "
            "cm2 in {{ outputs.minutes_until_empty }} minutes.",
        )
    }

    def handbook(self) -> str:
        return render_handbook("# A tank\n\nOne tank with a hole in its bottom.\n", self.tools)

    def run(self, tool: str, arguments: Drain, seed: int) -> Drained:
        del tool, seed  # one tool, and no chance
        seconds = 1e4 / arguments.hole_cm2 * (2 * arguments.height_m / 9.81) ** 0.5
        return Drained(minutes_until_empty=round(seconds / 60, 1))

    def fingerprint(self) -> str:
        return "1"  # another one when the numbers change: stored runs are then made again


def main() -> AnswerNow:
    """One answer, by the model that is named or, without one, by stand-ins that mean nothing."""
    if len(sys.argv) > 1:
        return answer(QUESTION, simulator=Tank(), model=sys.argv[1], budget=Budget(usd=0.50))
    return answer(QUESTION, simulator=Tank(), model="stand-in:any", cache=".cache/calls")


if __name__ == "__main__":
    try:
        result = main()
    except SimulRAGError as error:  # no key, no budget, no such model: a sentence each
        sys.exit(str(error))
    if sys.argv[1:]:
        print(result)
        for statement in result.final.statements:
            print(f"  {statement.standing}: {statement.text}")
    else:
        print(f"{result!r}\nA stand-in's words mean nothing. It ran the tank at its smallest:")
    for run in result.evidence:
        print(f"  {run.text}")
