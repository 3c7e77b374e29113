"""What README and docs name is there: pages, commands, parameters, modules, targets."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.files import write_frame
from flows.hooks import room_names
from flows.params import check_params
from flows.project import Results
from simulrag.metrics.table import Measurement, write_table
from tests.unit.metrics.measuring import data_of
from tests.unit.metrics.synthetic import study

ROOT = Path(__file__).resolve().parents[2]
GUIDES = sorted((ROOT / "docs").rglob("*.md"))
EXAMPLES = sorted((ROOT / "examples").glob("*/README.md"))
PAGES = [
    ROOT / "README.md",
    *EXAMPLES,
    *(page for page in GUIDES if page.parent.name != "decisions"),
]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def told(page: Path) -> str:
    """The page without what it says, from a comment to the next heading, of rooms not here."""
    text = page.read_text(encoding="utf-8")
    for room, part in re.findall(r"^<!-- room: (\w+) -->$(.*?)(?=^#|\Z)", text, re.M | re.S):
        text = text if room in room_names() else text.replace(part, "")
    return text


def blocks(page: Path, *languages: str) -> list[str]:
    """The code blocks in one of these languages ("" is none)."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", told(page), re.M | re.S)
    return [text for language, text in found if language in languages]


def anchors(page: Path) -> set[str]:
    """What a link may name after '#': the headings, as GitHub folds them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *GUIDES, ROOT / "CHANGELOG.md"], ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    missing = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            missing.append(link)
    assert missing == []


def commands() -> Iterator[tuple[str, str]]:
    """Every call of ``simulrag`` in a line of a code block or in backquotes, with its page."""
    for page in PAGES:
        for text in re.findall(r"`(simulrag [a-z][^`]*)`", told(page)):
            yield name(page), text
        for block in blocks(page, "", "bash", "sh"):
            for line in block.replace("\\\n", " ").splitlines():
                text = re.sub(r"(?:^|\s+)#.*", "", line).strip()
                if text.startswith("simulrag "):
                    yield name(page), text


@pytest.mark.parametrize(("page", "text"), sorted(set(commands())))
def test_commands_and_their_options_are_there(page: str, text: str) -> None:
    import typer.main

    from flows.cli.app import app

    command: Any = typer.main.get_command(app)
    words = shlex.split(text.replace("[", "").replace("]", ""))[1:]
    while words and getattr(command, "commands", None):
        assert words[0] in command.commands, f"{page}: {text}"
        command = command.get_command(None, words.pop(0))
    known = {option for parameter in command.params for option in parameter.opts}
    assert [word for word in words if word.startswith("--") and word not in known] == []


def settings() -> Iterator[tuple[str, str]]:
    """Every block that shows a part of params.yaml, with its page."""
    sections = set(yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8")))
    for page in PAGES:
        for block in blocks(page, "yaml"):
            found = yaml.safe_load(block)
            if isinstance(found, dict) and set(found) <= sections:
                yield name(page), block


@pytest.mark.parametrize(("page", "block"), list(settings()))
def test_parameters_are_accepted(page: str, block: str) -> None:
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    for section, value in yaml.safe_load(block).items():
        if isinstance(value, dict):
            params[section] |= value
        else:
            params[section] = value
    check_params(yaml.safe_dump(params), page)


def test_modules_that_are_run_are_there() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    modules = {m for text in texts for m in re.findall(r"python -m\s+([\w.]*\w)", text)}
    assert modules
    assert [module for module in modules if find_spec(module) is None] == []


def test_pages_that_the_code_names_are_there() -> None:
    rooms = ("flows", "rooms", "simulrag", "simulators", "studies", "benchmarks")
    files = [
        *(file for room in rooms for file in (ROOT / room).rglob("*.py")),
        *ROOT.glob("*.yaml"),
    ]
    texts = [file.read_text(encoding="utf-8") for file in files]
    named = {page for text in texts for page in re.findall(r"docs/[\w/-]+\.md", text)}
    assert named
    assert [page for page in named if not (ROOT / page).is_file()] == []


def test_targets_of_make_are_there() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    targets = {t for text in texts for t in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.M)}
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets
    assert [t for t in targets if not re.search(rf"^{t}:", made, re.M)] == []


def test_the_example_over_the_long_table_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example, _ = blocks(ROOT / "docs" / "read-the-report.md", "python")
    rows = [
        Measurement(
            family="answers",
            domain="urban",
            method="SimulRAG",
            metric=metric,
            samples=5,
            budget_percent=25.0,
            value=0.7,
            undecided="excluded",
            failures="excluded",
        )
        for metric in ("factuality", "informativeness")
    ]
    write_table(tmp_path / "data" / "metrics" / "urban.csv", rows)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "read-the-report.md", "exec"), {})  # the page's own text
    shown = capsys.readouterr().out
    assert "shape: (1, 6)" in shown
    assert "SimulRAG" in shown


def test_the_example_over_the_claims_draws_a_calibration_curve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, example = blocks(ROOT / "docs" / "read-the-report.md", "python")
    monkeypatch.setenv("MPLBACKEND", "agg")
    made = study(20)
    data = data_of(made.answers, made.labels, made.finals, questions=made.questions)
    write_frame(Results(tmp_path / "data").metrics_claims("urban"), data.claims)
    monkeypatch.chdir(tmp_path)
    shown: dict[str, Any] = {}
    exec(compile(example, "read-the-report.md", "exec"), shown)  # the page's own text
    _, curve = shown["plt"].gca().get_lines()
    assert 0 <= min(curve.get_ydata()) < max(curve.get_ydata()) <= 1
    shown["plt"].close()
