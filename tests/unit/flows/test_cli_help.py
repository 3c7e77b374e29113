"""What ``simulrag --help`` tells: every command, argument and option has words of its own."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from flows.cli.app import app
from flows.cli.main import stage_alone


def _commands(command: object, name: str) -> Iterator[tuple[str, object]]:
    yield name, command
    for part, child in getattr(command, "commands", {}).items():
        yield from _commands(child, f"{name} {part}")


COMMANDS = dict(_commands(get_command(app), "simulrag"))


def test_all_commands_are_looked_at() -> None:
    assert {"simulrag ask", "simulrag cache copy", "simulrag batch submit", "simulrag use"} <= set(
        COMMANDS
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_what_it_and_each_of_its_parameters_is(name: str) -> None:
    command = COMMANDS[name]
    assert getattr(command, "help", None)
    params = getattr(command, "params", [])
    assert [param.name for param in params if not getattr(param, "help", None)] == []


def test_the_version_is_the_packages() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert done.exit_code == 0
    assert done.stdout == f"simulrag {version('simulrag')}\n"


@pytest.mark.parametrize("arguments", [["--help"], [], ["label", "--wrong"]])
def test_stage_alone_is_the_stage_among_all_commands(arguments: list[str]) -> None:
    alone, among = (
        CliRunner().invoke(one, ["stage", *arguments], prog_name="simulrag")
        for one in (stage_alone(), app)
    )
    assert (alone.exit_code, alone.output) == (among.exit_code, among.output)
