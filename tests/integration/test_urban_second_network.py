"""The urban tools on a town that netgenerate draws: nothing of them is tuned to the corridor."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from simulators.base import ToolModel, validate_call
from simulators.urban import UrbanSimulator, engine
from tests.integration.test_urban_own_network import CONFIGURATION

pytestmark = pytest.mark.slow
FLOW = """  <flow id="from_{0}" type="car" begin="0" end="300" vehsPerHour="60" from="{0}" to="{1}"
        departSpeed="0"/>"""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """A town of irregular streets and three signals; cars cross it from dead end to dead end."""
    folder = tmp_path_factory.mktemp("second")
    net = folder / "town.net.xml"
    command = [str(engine.program("netgenerate")), "--rand", "--rand.iterations=40", "--seed=7"]
    engine.call([*command, "--tls.guess", f"-o={net}"], timeout_s=60, what="netgenerate")
    root = ET.parse(net).getroot()
    streets = [edge.attrib for edge in root.findall("edge") if "from" in edge.attrib]
    leaving = Counter(street["from"] for street in streets)
    entries = [street for street in streets if leaving[street["from"]] == 1]
    ends = {street["to"]: street["id"] for street in streets if leaving[street["to"]] == 1}
    exits = [ends[street["from"]] for street in entries]
    assert len(entries) > 8
    half = len(exits) // 2
    flows = [
        FLOW.format(street["id"], exit_)
        for street, exit_ in zip(entries, exits[half:] + exits[:half], strict=True)
    ]
    car = '  <vType id="car" emissionClass="HBEFA3/PC_G_EU4"/>'
    (folder / "town.rou.xml").write_text("\n".join(["<routes>", car, *flows, "</routes>"]))
    (folder / "town.sumocfg").write_text(CONFIGURATION)
    signals = [logic.attrib["id"] for logic in root.findall("tlLogic")]
    return {
        "sumocfg": str(folder / "town.sumocfg"),
        "edges": [street["id"] for street in streets],
        "signal": max(signals, key=lambda one: leaving[one]),
        "cache_dir": str(folder / "cache"),
    }


def ask(urban: UrbanSimulator, **arguments: object) -> dict[str, float]:
    call = validate_call(urban, "compare_with_baseline", {"replicates": 3, **arguments})
    outputs: ToolModel = urban.run("compare_with_baseline", call, 1)
    return outputs.model_dump()


def test_the_directions_of_the_corridor_hold(settings: dict[str, object]) -> None:
    urban = UrbanSimulator(**settings)  # type: ignore[arg-type]
    slower, faster = ask(urban, speed_factor=0.7), ask(urban, speed_factor=1.2)
    assert slower["baseline_vehicles"] == slower["scenario_vehicles"] > 40
    assert slower["travel_time_change_percent"] > 15
    assert faster["travel_time_change_percent"] < -3
    more = ask(urban, demand_factor=1.5)
    assert more["scenario_vehicles"] > 1.4 * more["baseline_vehicles"]
    assert more["co2_change_percent"] > 35
    without = ask(urban, use_priority_junction=True)
    assert without["idling_change_percent"] < 0
    same = ask(urban)
    assert same["travel_time_change_percent"] == same["co2_change_percent"] == 0


def test_both_tools_answer_in_words_and_again(settings: dict[str, object]) -> None:
    urban = UrbanSimulator(**settings)  # type: ignore[arg-type]
    for name, calls in urban.examples().items():
        arguments = validate_call(urban, name, calls[0])
        outputs = urban.run(name, arguments, 1)
        assert outputs == urban.run(name, arguments, 1)
        text = urban.tools[name].describe(arguments, outputs)
        times = [v for k, v in outputs.model_dump().items() if k.endswith("travel_time_s")]
        assert times
        assert all(f"{time:.2f} s" in text for time in times)
