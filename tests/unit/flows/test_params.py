"""params.yaml: every mistake is one line with where, what and the likely key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from flows.hooks import room_names
from flows.params import check_params, describe, load_params, unknown
from flows.params_file import changed as changed_text
from flows.project import Project, find_project
from simulrag.errors import InputError
from simulrag.models.providers.registry import model_settings
from tests.integration.terminal import Opened

ROOT = Path(__file__).resolve().parents[3]


def changed(tmp_path: Path, change: dict[str, object]) -> Path:
    """The project's params.yaml with dotted keys set."""
    raw = yaml.safe_load((ROOT / "params.yaml").read_text())
    for dotted, value in change.items():
        *path, last = dotted.split(".")
        place = raw
        for part in path:
            place = place[part]
        place[last] = value
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(raw))
    return file


LISTS = tuple(
    f"{room}.domains" for room in ("attribution", "routing", "score") if room in room_names()
)


def test_the_domains_that_run_are_chosen_in_every_list_at_once(
    tmp_path: Path, terminal_in: Opened
) -> None:
    if not LISTS:
        pytest.skip("no room with a list of domains is here")
    file = changed(tmp_path, {"domains": ["climate-search"]})
    with pytest.raises(InputError) as caught:
        load_params(file)
    forms = "forms" in room_names()
    places = sorted([*LISTS, *["forms.sources"] * forms])
    named = {"forms.sources": ["urban-search"]}
    lists = [named.get(place, ["urban", "climate", "epidemiology"]) for place in places]
    others = ", ".join(dict.fromkeys(f"'{name}'" for names in lists for name in names))
    assert str(caught.value) == (
        f"params.yaml: {', '.join(places)}: {others} not among the "
        "domains that run; `simulrag domains climate-search` sets all lists"
    )
    before = (ROOT / "params.yaml").read_text()
    file.write_text(before)
    said = terminal_in(tmp_path).passes("domains", "climate", "urban", "joined")
    params = load_params(file)
    assert params.domains == ["climate", "urban", "joined"]
    lists = [params.model_dump()[place.split(".")[0]]["domains"] for place in LISTS]
    assert lists == [["urban", "climate"]] * len(LISTS)
    assert params.simulator("joined").name == "joined"
    assert f"{LISTS[0]}: urban, climate\n" in said
    kept = [line for line in before.splitlines() if "#" in line]
    assert [line for line in file.read_text().splitlines() if "#" in line] == kept
    terminal_in(tmp_path).passes("domains", "climate-search")
    assert [load_params(file).model_dump()[place.split(".")[0]]["domains"] for place in LISTS] == [
        []
    ] * len(LISTS)
    if forms:
        assert load_params(file).model_dump()["forms"]["sources"] == ["climate-laboratory"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("urbn",), "'urbn' is not a domain; did you mean 'urban'?"),
        (("urban", "urban"), "domains are named twice"),
    ],
)
def test_domains_that_cannot_run_leave_the_file_as_it_was(
    names: tuple[str, ...], words: str, tmp_path: Path, terminal_in: Opened
) -> None:
    file = changed(tmp_path, {})
    before = file.read_text()
    said = terminal_in(tmp_path)("domains", *names)
    assert said.code == 2
    assert words in said.err
    assert file.read_text() == before


def test_what_stands_below_a_list_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text("domains:\n  - a\n  - b\n\n# below\nnext: 1\n")
    assert changed_text(file, {"domains": ["c"]}) == "domains: [c]\n\n# below\nnext: 1\n"


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("answer.samples", 0, ["answer.samples", "greater than or equal to 1"]),
        ("answer.method", "reconciled", ["answer.method", "write grounded or paper"]),
        ("answer.baselines", [], ["unknown setting answer.baselines", "answer.beside: [paper"]),
        ("answer.final_budgets_percent", [130], ["final_budgets_percent", "130"]),
        ("metrics.budgets_percent", [15, 130], ["metrics.budgets_percent", "130"]),
        ("answer.sampels", 5, ["unknown setting answer.sampels: did you mean 'samples'?"]),
        ("llm.budget", {"usd": 5}, ["unknown setting llm.budget", "operations.budget"]),
        ("operations.budget", {"usd": -1}, ["operations.budget.usd"]),
        (
            "operations.budget",
            {"eur": 5},
            ["unknown setting operations.budget.eur: known there", "usd"],
        ),
        ("anwser", {}, ["unknown setting anwser: did you mean 'answer'?"]),
        ("answer.centrality", "closness", ["answer.centrality", "closeness"]),
        ("label.tolerance", -1, ["label", "tolerance"]),
        ("prompts", "../mine", ["prompts", "pattern"]),
        ("domains", [], ["domains"]),
        ("domains", ["atlantis"], ["atlantis", "simulators"]),
        ("domains", ["ubran"], ["params.yaml: domain 'ubran'", "did you mean 'urban'?"]),
        ("llm.answer.temprature", 1, ["unknown setting llm.answer.temprature"]),
        ("answer.kappa_quantile", float("nan"), ["answer.kappa_quantile"]),
        ("answer.samples", True, ["answer.samples", "integer"]),
        ("label.tolerance", True, ["label.tolerance"]),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, key: str, value: object, words: list[str]) -> None:
    file = changed(tmp_path, {key: value})
    with pytest.raises(InputError) as caught:
        load_params(file)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("domains: [urban\n", "not valid YAML"),
        ("llm:\n\tjudge: 1\n", "line 2, column 1; indent with spaces"),
        ("llm: {base_url: http://127.0.0.1:8000/v1}\n", "in braces an address needs quotes"),
        ("domains: \x01\n", "a character that YAML does not take"),
        ("- urban\n", "must hold sections"),
    ],
)
def test_a_file_that_is_not_yaml(tmp_path: Path, text: str, words: str) -> None:
    """Whatever DVC would not take either: both read with one parser."""
    file = tmp_path / "params.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=re.escape(words)):
        load_params(file)


def test_a_number_is_read_as_dvc_reads_it(tmp_path: Path) -> None:
    text = (ROOT / "params.yaml").read_text()
    file = tmp_path / "params.yaml"
    file.write_text(text.replace("  tolerance: rounding", "  tolerance: 5e-1"))
    assert load_params(file).label.tolerance == 0.5


SECTION = re.compile(r"params\.(simulator|chosen|answer|label|metrics|benchmark|domains|prompts)\b")
PART = re.compile(r"(?<!\.)\bmethod\.(\w+)")
"""What a stage that is handed the section ``answer`` as ``method`` takes of it."""
ROLE = re.compile(
    r"(?:params\.model\(|open_bench\([^)]*?)\s*\"(benchmark|answer|judge)\"", re.DOTALL
)


@pytest.mark.parametrize("stage", ["benchmark", "answer", "label", "metrics"])
def test_dvc_names_the_sections_that_a_stage_reads(stage: str) -> None:
    """A parameter that changes a result cannot be read behind DVC's back."""
    declared = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"][stage]["params"]
    named = {entry.replace(".${item.domain}", "") for entry in declared}
    text = (ROOT / f"flows/stages/{stage}.py").read_text()
    read = {found.replace("chosen", "simulator") for found in SECTION.findall(text)}
    read = {"simulators" if found == "simulator" else found for found in read}
    read |= {f"llm.{role}" for role in ROLE.findall(text)}
    if "answer" in read and "answer" not in named:  # then only the parts of it that are named
        read = read - {"answer"} | {f"answer.{part}" for part in PART.findall(text)}
    assert read <= named
    assert not {entry for entry in named if entry.startswith("operations")}


def test_every_parameter_has_a_meaning() -> None:
    assert [name for name, meaning in describe() if not meaning] == []


def test_outside_a_project(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"params\.yaml"):
        find_project(tmp_path)


def test_an_unquoted_off_is_off(tmp_path: Path) -> None:
    text = (ROOT / "params.yaml").read_text()
    file = tmp_path / "params.yaml"
    file.write_text(text.replace("prefect: auto", "prefect: off"))
    assert load_params(file).operations.prefect == "off"


def test_a_key_given_twice_is_an_error(tmp_path: Path) -> None:
    text = (ROOT / "params.yaml").read_text()
    file = tmp_path / "params.yaml"
    file.write_text(text.replace("  samples: 5\n", "  samples: 5\n  samples: 6\n"))
    with pytest.raises(InputError, match=r"a key is given twice, line \d+, column 3"):
        load_params(file)


@pytest.mark.parametrize("field", ["provider", "endpoint", "base_url", "api_key_env", "sampling"])
def test_a_secret_in_the_wrong_field_is_not_repeated(tmp_path: Path, field: str) -> None:
    file = changed(tmp_path, {f"llm.answer.{field}": "sk-proj-PLANTED SECRET"})
    with pytest.raises(InputError) as caught:
        load_params(file)
    assert "PLANTED" not in str(caught.value)
    assert f"llm.answer.{field}" in str(caught.value) or "llm.answer" in str(caught.value)


def test_the_recorded_model_is_only_replayed(tmp_path: Path) -> None:
    """No service has a model of that name: without replay each call would fail, or cost."""
    recorded = {"provider": "anthropic", "model": "claude"}
    with pytest.raises(InputError, match=r"llm\.judge names the recorded model.*simulrag use"):
        load_params(changed(tmp_path, {"llm.judge": recorded}))
    anew = {f"llm.{role}": recorded for role in ("benchmark", "answer", "judge")}
    load_params(changed(tmp_path, {**anew, "operations.mode": "deferred"}))


def test_replay_and_refresh_contradict_each_other(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"llm\.benchmark\.replay and operations\.mode: refresh"):
        load_params(changed(tmp_path, {"operations.mode": "refresh"}))


@pytest.mark.parametrize(
    "model",
    [
        "openai:gpt-5-mini",
        "anthropic:claude-sonnet-4-5",
        "http://127.0.0.1:11434/v1#qwen3:8b",
        "local:C:/models/weights.gguf",
    ],
)
def test_every_form_of_a_model_is_written_into_its_lines_only_and_read_again(model: str) -> None:
    settings = model_settings(model)
    section = settings.model_dump(mode="json", exclude_defaults=True)
    text = changed_text(ROOT / "params.yaml", {"llm.answer": section, "llm.judge": section})
    lines = text.splitlines()
    before = (ROOT / "params.yaml").read_text(encoding="utf-8").splitlines()
    other = [new for old, new in zip(before, lines, strict=True) if old != new]
    assert [line.partition(":")[0] for line in other] == ["  answer", "  judge"]
    read = check_params(text, "params.yaml")
    assert (read.model("answer"), read.model("judge")) == (settings, settings)


def test_the_digest_names_what_can_change_a_result(tmp_path: Path) -> None:
    params = load_params(ROOT / "params.yaml")
    faster = load_params(changed(tmp_path, {"operations.concurrency": 3}))
    other = load_params(changed(tmp_path, {"answer.samples": 3}))
    assert params.digest() == faster.digest() != other.digest()
    assert params.digest("label") == other.digest("label")


def test_an_unknown_name_is_said_with_what_is_known() -> None:
    assert unknown("domain", "ubran", ["climate", "urban"]) == (
        "'ubran' is not a domain; did you mean 'urban'? Known: climate, urban"
    )
    assert unknown("domain", "x", []) == "'x' is not a domain; known: nothing"


@pytest.mark.parametrize(
    "name", ["x; touch y", "../../evil", "a b", "$(id)", "", "-x", "a/b", "x\n"]
)
def test_a_name_is_no_command_and_no_path(name: str) -> None:
    """It becomes a word of a command in dvc.yaml, and a file's name."""
    raw = yaml.safe_load((ROOT / "params.yaml").read_text())
    for more in (
        {"domains": [name], "simulators": {name: {"name": "urban"}}},
        {"simulators": {**raw["simulators"], name: {"name": "urban"}}},
    ):
        with pytest.raises(InputError, match="String should match pattern"):
            check_params(yaml.safe_dump({**raw, **more}), "params.yaml")


def test_a_domain_of_ones_own_has_a_model_for_its_questions_alone(tmp_path: Path) -> None:
    domains = [*load_params(ROOT / "params.yaml").domains, "mine"]
    file = changed(tmp_path, {"simulators.mine": {"name": "urban"}, "domains": domains})
    project = Project(ROOT)
    assert load_params(file).unwritten(project) == ["mine"]
    section = {"provider": "openai", "model": "gpt-5-mini"}
    text = changed_text(file, {"simulators.mine.benchmark_model": section})
    params = check_params(text, file.name)
    assert params.unwritten(project) == []
    assert params.of("mine").model("benchmark").model == "gpt-5-mini"
    assert params.of("urban") is params
    assert params.of("mine").model("answer") == params.model("answer")
    place = "simulators.mine.benchmark_model"
    assert place in params.models()
    recorded = text.replace("openai, model: gpt-5-mini", "anthropic, model: claude")
    with pytest.raises(InputError, match=f"{place} names the recorded model"):
        check_params(recorded, file.name)
    pasted = text.replace("openai, model: gpt-5-mini", "openai, model: m, api_key_env: sk-1 2")
    with pytest.raises(InputError, match=place) as caught:
        check_params(pasted, file.name)
    assert "sk-1" not in str(caught.value)
    with pytest.raises(InputError, match="did you mean 'model'"):
        check_params(text.replace("model: gpt-5-mini", "modell: m"), file.name)


def test_a_domain_may_have_settings_of_its_own(tmp_path: Path) -> None:
    own = {
        "name": "urban",
        "benchmark": {"kind": "search", "questions": 5},
        "answer": {"samples": 1, "final_budgets_percent": [100]},
    }
    params = load_params(changed(tmp_path, {"simulators.mine": own}))
    mine = params.of("mine")
    assert (mine.benchmark.kind, mine.benchmark.questions) == ("search", 5)
    assert mine.benchmark.templates == params.benchmark.templates
    assert (mine.answer.samples, mine.answer.final_budgets_percent) == (1, (100,))
    assert mine.answer.looks == params.answer.looks


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"benchmark": {"question": 5}}, "simulators.mine.benchmark.question: Extra inputs"),
        ({"answer": {"samples": 0}}, "simulators.mine.answer.samples: Input should be"),
        (
            {"benchmark": {"kind": "search"}, "templates_file": "mine.yaml"},
            "simulators.mine.templates_file: templates of search questions are a model's",
        ),
    ],
)
def test_a_mistake_in_a_domains_own_settings_is_named(
    tmp_path: Path, own: dict[str, object], words: str
) -> None:
    file = changed(tmp_path, {"simulators.mine": {"name": "urban", **own}})
    with pytest.raises(InputError, match=words):
        load_params(file)
