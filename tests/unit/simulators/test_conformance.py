"""`simulrag simulators check` passes what keeps the protocol and names what does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.main import ended
from flows.cli.sources import simulators_app
from simulators.base import ArgumentError
from simulators.conformance import check
from tests.unit.simulators import reservoir
from tests.unit.simulators.test_recorded import SETTINGS

DRAW = "        draw = self.demand_m3_per_day"
PATHLIB = "from pathlib import Path\n"
FINGERPRINT = "files_fingerprint(code_files(Path(__file__).parent), settings)"

SAID = "empty is {{ outputs.days_until_empty }} days."
OUTPUT = "run_scenario.days_until_empty"

# What is changed in the reservoir, where that must be found, and in which words.
BROKEN: dict[str, tuple[tuple[str, str], str, str]] = {
    "text argument": (
        (
            "    inflow_m3_per_day: float",
            "    town: str = measured('-', 'which town')\n    inflow_m3_per_day: float",
        ),
        "calls to start from",
        "no value for 'town' follows",
    ),
    "handbook": (
        ("return render_handbook(", "return '# A reservoir' or ("),
        "handbook",
        "it lacks run_scenario",
    ),
    "end of a range": (
        (DRAW, f"        1 / (2 - arguments.demand_factor)\n{DRAW}"),
        "ranges of arguments",
        "ZeroDivisionError",
    ),
    "kind of outputs": (
        ("return ScenarioOutputs(", "return dict("),
        "ranges of arguments",
        "gave dict, not ScenarioOutputs",
    ),
    "chance": (
        ("round(days, 1)", 'round(days, 1) + __import__("random").random()'),
        "equal seeds, equal bytes",
        "two runs with one seed differ",
    ),
    "process": (
        ("round(days, 1)", 'round(days, 1) + __import__("os").getpid()'),
        "equal seeds, equal bytes",
        "a fresh process gives other outputs",
    ),
    "open arguments": (
        ("Scenario(ToolModel):", "Scenario(ToolModel, extra='allow'):"),
        "refusals",
        "an unknown argument is taken",
    ),
    "unit": ((SAID, SAID.replace(" days", "")), "outputs in the text", OUTPUT),
    "unsaid": ((SAID, "empty is far off, in days."), "outputs in the text", OUTPUT),
    "template": ((SAID, "{{ outputs.days }}"), "outputs in the text", "its template fails"),
    "unhashed": ((FINGERPRINT, "files_fingerprint([], settings)"), "fingerprint", "__init__.py"),
    "unstable": (
        (FINGERPRINT, 'str(__import__("time").time_ns())'),
        "fingerprint",
        "two calls of fingerprint() differ",
    ),
}


def _problems() -> dict[str, str]:
    return {finding.what: "; ".join(finding.problems) for finding in check("reservoir")}


def test_the_reservoir_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reservoir.install(tmp_path, monkeypatch, reservoir.source())
    done = CliRunner().invoke(
        simulators_app, ["check", "reservoir", "--settings", '{"volume_m3": 3e6}']
    )
    assert done.exit_code == 0, done.output
    assert done.output.count("passed") == 8
    assert "made from the ranges" in done.output


@pytest.mark.parametrize("way", list(BROKEN))
def test_what_is_broken_is_named(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change, what, words = BROKEN[way]
    reservoir.install(tmp_path, monkeypatch, reservoir.source(change))
    assert words in _problems()[what]


def test_a_data_file_and_a_module_that_are_not_hashed_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = "        Path(__file__).with_name('river.csv').read_text()\n"
    own = (FINGERPRINT, "files_fingerprint([Path(__file__)], settings)")
    more = (PATHLIB, f"import own_plugin.more\n{PATHLIB}")
    code = reservoir.source((DRAW, reads + DRAW), own, more)
    reservoir.install(tmp_path, monkeypatch, code, more_py="A = 1\n", **{"river.csv": "1\n"})
    found = _problems()["fingerprint"]
    assert "more.py" in found
    assert "river.csv" in found
    assert "__init__.py" not in found


def _notes(name: str) -> list[str]:
    findings = check(name)
    assert [finding.problems for finding in findings if finding.problems] == []
    return [note for finding in findings for note in finding.notes]


def test_an_argument_without_a_meaning_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inflow = "    inflow_m3_per_day: float"
    bare = reservoir.source((inflow, f'    town: str = "Ulm"\n{inflow}'))
    reservoir.install(tmp_path, monkeypatch, bare)
    assert [note.partition(":")[0] for note in _notes("reservoir")] == [
        "it does not say what town of run_scenario means",
        "it does not say what town of run_for_days means",
    ]


def test_a_script_whose_fingerprint_reads_no_file_passes_with_a_note(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """So it is in the shipped example; a package has to hash its files."""
    monkeypatch.syspath_prepend(str(reservoir.ROOT / "examples"))
    (note,) = _notes("tank:Tank")
    assert "an edit of tank.py leaves it as it is" in note
    monkeypatch.setenv("COLUMNS", "200")
    assert _exit_code(["check", "tank:Tank"]) == 0
    assert "note: it reads no file" in capsys.readouterr().out


REFUSES = f"""\
        if arguments.inflow_m3_per_day > self.demand_m3_per_day:
            raise ArgumentError("more inflow than the town draws: nothing is drawn down")
{DRAW}"""


def test_a_run_may_refuse_in_words_what_no_range_can_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = ("import (\n", "import (\n    ArgumentError,\n")
    example = (
        "    def examples(self):\n"
        "        return {{'run_scenario': [{{'inflow_m3_per_day': {}}}]}}\n\n"
    )
    handbook = "    def handbook"
    for inflow, problems in ((1e4, 0), (1e6, 1)):
        folder = tmp_path / str(inflow)
        folder.mkdir()
        starts = (handbook, example.format(inflow) + handbook)
        made = reservoir.source((DRAW, REFUSES), ours, starts)
        reservoir.install(folder, monkeypatch, made)
        found = {finding.what: finding for finding in check("reservoir")}["ranges of arguments"]
        assert sum(problem.startswith("run_scenario") for problem in found.problems) == problems
        assert "calls refused in words" in found.seen


def test_problems_that_differ_in_their_call_alone_are_one_with_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reservoir.install(tmp_path, monkeypatch, reservoir.source((DRAW, f"        1 / 0\n{DRAW}")))
    found = {finding.what: finding for finding in check("reservoir")}["ranges of arguments"]
    assert len(found.problems) == 17
    assert [problem.rpartition(" (x ")[2] for problem in found.folded] == ["7)", "10)"]


def test_a_folder_without_init_is_named_and_not_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "model.py").write_text(reservoir.source())
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    said = f"{tmp_path / 'bare'} has no __init__.py"
    problems = {one.what: one.problems for one in check("bare.model:Reservoir") if one.problems}
    assert list(problems) == ["fingerprint"]
    assert said in problems["fingerprint"][0]
    assert _exit_code(["check", "bare:Reservoir"]) == 2
    assert said in capsys.readouterr().err


def _exit_code(arguments: list[str]) -> int:
    return ended(lambda: simulators_app(arguments))


def test_exit_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reservoir.install(tmp_path, monkeypatch, reservoir.source(BROKEN["unsaid"][0]))
    assert _exit_code(["check", "reservoir"]) == 1
    assert _exit_code(["check", "no-such-simulator"]) == 2
    assert _exit_code(["check", "reservoir", "--settings", "{volume"]) == 2
    assert _exit_code(["check", "reservoir", "--settings", '{"x": 1}']) == 2
    with pytest.raises(ArgumentError, match=r"known: .*climate"):
        check("no-such-simulator")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SETTINGS))
def test_the_projects_simulators_pass(name: str) -> None:
    assert [(found.what, found.problems) for found in check(name) if not found.passed] == []


def test_code_that_cannot_be_imported_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reservoir.install(tmp_path, monkeypatch, "def (")
    assert _exit_code(["check", "reservoir"]) == 2
    err = capsys.readouterr().err
    assert "SyntaxError" in err
    assert "Traceback" not in err
