"""What ``simulrag --help`` and docs/reference.md tell of every command, argument and option."""

from __future__ import annotations

import sys
from importlib.metadata import version
from types import SimpleNamespace

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from flows.cli.app import COMMANDS as LISTED
from flows.cli.app import LazyGroup, app, every_command
from flows.cli.docs import reference
from tests.recorded import ROOT

COMMANDS = dict(every_command())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_what_it_and_each_of_its_parameters_is(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    assert [param.name for param in command.params if not getattr(param, "help", None)] == []


def test_the_lines_of_the_help_are_the_commands_own() -> None:
    """The help imports no command, so its lines are written beside the names."""
    group = get_command(app)
    assert isinstance(group, LazyGroup)
    listed = {name: command.get_short_help_str(200) for name, command in group.commands.items()}
    assert {"ask", "label"} <= set(listed)
    assert listed == {name: COMMANDS[name].get_short_help_str(200) for name in listed}


def test_a_room_adds_to_a_group_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    brought, group = typer.Typer(), typer.Typer()
    brought.add_typer(group, name="label")
    group.command("rate", help="Rate.")(lambda: None)
    monkeypatch.setitem(sys.modules, "a_room", SimpleNamespace(app=brought))
    monkeypatch.setitem(LISTED, ("Look", "a_room"), {"label": "A line that is not shown."})
    assert {"label export", "label rate"} <= set(dict(every_command()))


def test_the_version_is_the_packages() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert done.exit_code == 0
    assert done.stdout == f"simulrag {version('simulrag')}\n"


def test_the_page_of_reference_is_up_to_date() -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert page == reference(), "run simulrag docs reference"
