"""A user's own SUMO configuration behind the same tools: the example of docs/, and another town."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

from simulators.base import ArgumentError, ToolModel, validate_call
from simulators.urban import UrbanSimulator, engine

NODES = """<nodes>
  <node id="west" x="0" y="0"/>
  <node id="market" x="300" y="0" type="traffic_light"/>
  <node id="east" x="600" y="0"/>
  <node id="north" x="300" y="200"/>
  <node id="south" x="300" y="-200"/>
</nodes>"""
EDGES = """<edges>
  <edge id="high_street_1" from="west" to="market" numLanes="1" speed="13.9" priority="3"/>
  <edge id="high_street_2" from="market" to="east" numLanes="1" speed="13.9" priority="3"/>
  <edge id="mill_lane_1" from="north" to="market" numLanes="1" speed="8.3" priority="1"/>
  <edge id="mill_lane_2" from="market" to="south" numLanes="1" speed="8.3" priority="1"/>
</edges>"""
ROUTES = """<routes>
  <vType id="car" emissionClass="HBEFA3/PC_G_EU4"/>
  <flow id="along" type="car" begin="0" end="300" vehsPerHour="480" from="high_street_1"
        to="high_street_2" departSpeed="0"/>
  <flow id="across" type="car" begin="0" end="300" vehsPerHour="60" from="mill_lane_1"
        to="mill_lane_2" departSpeed="0"/>
</routes>"""
CONFIGURATION = """<configuration>
  <input>
    <net-file value="town.net.xml"/>
    <route-files value="town.rou.xml"/>
  </input>
</configuration>"""
HIGH_STREET = ["high_street_1", "high_street_2"]


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    for name, text in {
        "town.nod.xml": NODES,
        "town.edg.xml": EDGES,
        "town.rou.xml": ROUTES,
        "town.sumocfg": CONFIGURATION,
    }.items():
        (folder / name).write_text(text)
    command = [str(engine.program("netconvert")), f"--node-files={folder / 'town.nod.xml'}"]
    command += [f"--edge-files={folder / 'town.edg.xml'}", f"-o={folder / 'town.net.xml'}"]
    engine.call(command, timeout_s=60, what="netconvert")
    return folder


@pytest.fixture
def urban(town: Path, tmp_path: Path) -> UrbanSimulator:
    return UrbanSimulator(
        sumocfg=town / "town.sumocfg", edges=HIGH_STREET, signal="market", cache_dir=tmp_path
    )


def ask(urban: UrbanSimulator, **arguments: object) -> dict[str, float]:
    call = validate_call(urban, "compare_with_baseline", arguments)
    outputs: ToolModel = urban.run("compare_with_baseline", call, 1)
    return outputs.model_dump()


def test_a_lower_limit_on_the_named_edges_takes_longer(urban: UrbanSimulator) -> None:
    outputs = ask(urban, speed_factor=0.5)
    assert outputs["baseline_vehicles"] == outputs["scenario_vehicles"] > 40
    assert outputs["travel_time_change_percent"] > 20


def test_demand_scales_the_number_of_vehicles(urban: UrbanSimulator) -> None:
    outputs = ask(urban, demand_factor=0.5)
    ratio = outputs["scenario_vehicles"] / outputs["baseline_vehicles"]
    assert ratio == pytest.approx(0.5, abs=0.1)


def test_the_signal_is_taken_away(urban: UrbanSimulator) -> None:
    outputs = ask(urban, use_priority_junction=True)
    assert outputs["idling_change_percent"] < -50
    assert outputs["travel_time_change_percent"] < 0


def test_both_at_once_and_without_a_change(urban: UrbanSimulator) -> None:
    both = ask(urban, use_priority_junction=True, speed_factor=0.8, demand_factor=0.9)
    assert both["idling_change_percent"] < -50
    assert ask(urban)["travel_time_change_percent"] == 0


def test_lanes_cannot_be_changed(urban: UrbanSimulator) -> None:
    with pytest.raises(ArgumentError, match="lanes cannot be changed"):
        ask(urban, lanes=1)


def test_without_a_signal_there_is_nothing_to_take_away(town: Path, tmp_path: Path) -> None:
    urban = UrbanSimulator(sumocfg=town / "town.sumocfg", edges=HIGH_STREET, cache_dir=tmp_path)
    with pytest.raises(ArgumentError, match="set signal"):
        ask(urban, use_priority_junction=True)
    assert "no signal is named" in urban.handbook()


def test_the_handbook_speaks_of_the_users_network(urban: UrbanSimulator) -> None:
    handbook = urban.handbook()
    assert "town.sumocfg" in handbook
    assert "high_street_1, high_street_2" in handbook
    assert "the traffic signal market away" in handbook


@pytest.mark.parametrize(
    ("edges", "signal", "word"),
    [
        (["low_street"], None, "no edge low_street"),
        (HIGH_STREET, "church", "no signal church"),
        ([], None, "edges"),
    ],
)
def test_unknown_names_are_refused(
    town: Path, edges: list[str], signal: str | None, word: str
) -> None:
    with pytest.raises(ArgumentError, match=word):
        UrbanSimulator(sumocfg=town / "town.sumocfg", edges=edges, signal=signal)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("<configuration>", "cannot be read"),
        ("<configuration/>", "names no net-file"),
        ('<c><input><net-file value="gone.net.xml"/></input></c>', r"gone\.net\.xml"),
    ],
)
def test_unusable_configurations_are_refused(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "bad.sumocfg").write_text(text)
    with pytest.raises(ArgumentError, match=word):
        UrbanSimulator(sumocfg=tmp_path / "bad.sumocfg", edges=["a"])


def test_the_fingerprint_follows_the_users_files(town: Path, tmp_path: Path) -> None:
    for path in town.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    urban = UrbanSimulator(sumocfg=tmp_path / "town.sumocfg", edges=HIGH_STREET)
    before = urban.fingerprint()
    assert UrbanSimulator().fingerprint() != before
    (tmp_path / "town.rou.xml").write_text(ROUTES.replace("480", "240"))
    assert urban.fingerprint() != before


FLOW = """  <flow id="from_{0}" type="car" begin="0" end="300" vehsPerHour="60" from="{0}" to="{1}"
        departSpeed="0"/>"""


@pytest.fixture(scope="module")
def second_town(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
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


@pytest.mark.slow
def test_the_directions_of_the_corridor_hold(second_town: dict[str, object]) -> None:
    urban = UrbanSimulator(**second_town)  # type: ignore[arg-type]
    slower, faster = (
        ask(urban, replicates=3, speed_factor=0.7),
        ask(urban, replicates=3, speed_factor=1.2),
    )
    assert slower["baseline_vehicles"] == slower["scenario_vehicles"] > 40
    assert slower["travel_time_change_percent"] > 15
    assert faster["travel_time_change_percent"] < -3
    more = ask(urban, replicates=3, demand_factor=1.5)
    assert more["scenario_vehicles"] > 1.4 * more["baseline_vehicles"]
    assert more["co2_change_percent"] > 35
    without = ask(urban, replicates=3, use_priority_junction=True)
    assert without["idling_change_percent"] < 0
    same = ask(urban, replicates=3)
    assert same["travel_time_change_percent"] == same["co2_change_percent"] == 0


@pytest.mark.slow
def test_both_tools_answer_in_words_and_again(second_town: dict[str, object]) -> None:
    urban = UrbanSimulator(**second_town)  # type: ignore[arg-type]
    for name, calls in urban.examples().items():
        arguments = validate_call(urban, name, calls[0])
        outputs = urban.run(name, arguments, 1)
        assert outputs == urban.run(name, arguments, 1)
        text = urban.tools[name].describe(arguments, outputs)
        times = [v for k, v in outputs.model_dump().items() if k.endswith("travel_time_s")]
        assert times
        assert all(f"{time:.2f} s" in text for time in times)
