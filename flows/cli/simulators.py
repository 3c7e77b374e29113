"""``simulrag simulators``: does one keep the protocol, do the recorded runs come out again."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from contextlib import suppress
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.output import json_object, look_here

if TYPE_CHECKING:
    from pydantic import JsonValue

    from simulators.base import Simulator
    from simulators.conformance import Finding
    from simulators.conformance.verification import RecordedRun

simulators_app = typer.Typer(no_args_is_help=True, help="Simulators: of this project, and yours.")


STARTER = {
    "pyproject.toml": "pyproject.toml",
    "__init__.py": "{name}/__init__.py",
    "simulator.py": "{name}/simulator.py",
    "test_starter.py": "test_{name}.py",
}
"""The files of simulators/starter, and where they lie in a package of that name."""


@simulators_app.command("new", epilog="Example: simulrag simulators new reservoir")
def new(
    name: Annotated[
        str, typer.Argument(help="Of the package, its folder and the simulator: my_model.")
    ],
) -> None:
    """Write a package with a simulator to begin with: two tools, and a test that passes."""
    from flows.files import write_text
    from simulators.registry import names
    from simulrag.errors import InputError

    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise InputError(
            f"'{name}' cannot be the name of a Python package: take lower-case letters, digits and "
            "_, a letter first, such as water_network"
        )
    if Path(name).exists():
        raise InputError(f"{name} is there already; take another name, or go to another folder")
    if name in names() or find_spec(name) is not None:
        raise InputError(f"'{name}' is installed already, and one would hide the other")
    kind = "".join(part.capitalize() for part in name.split("_"))
    words = {"simulators.starter": name, "starter": name, "Starter": kind}
    for source, place in STARTER.items():
        text = resources.files("simulators.starter").joinpath(source).read_text(encoding="utf-8")
        file = Path(name, place.format(name=name))
        write_text(file, re.sub("|".join(words), lambda found: words[found[0]], text))
        typer.echo(file)
    typer.echo(
        f"\nIt simulates a reservoir; put your own model into {name}/{name}/simulator.py. Then:\n\n"
        f"  pip install -e {name}\n"
        f"  simulrag simulators check {name}\n\n"
        f"and in params.yaml '{name}' under domains, '{name}: {{name: {name}}}' under simulators."
    )


@simulators_app.command(
    "check", epilog="Example: simulrag simulators check reservoir --settings '{\"volume_m3\": 3e6}'"
)
def check(
    name: Annotated[
        str,
        typer.Argument(
            help="A registered simulator, a domain of params.yaml, or module:Class, of this folder "
            "or installed."
        ),
    ],
    settings: Annotated[
        str | None, typer.Option("--settings", help="Its settings, as JSON; a domain has its own.")
    ] = None,
) -> None:
    """Try a simulator without any model and list what was seen; exit 1 where something fails."""
    from simulators.base import SimulatorError
    from simulators.conformance import check as check_simulator
    from simulrag.errors import InputError

    look_here(name)
    name, own = _of_domain(name)
    given = own if settings is None else json_object(settings, "--settings", '{"members": 20}')
    try:
        findings = check_simulator(name, given)
    except SimulatorError as error:
        raise InputError(str(error)) from None
    _show(findings)
    if not all(finding.passed for finding in findings):
        raise typer.Exit(1)


def _of_domain(name: str) -> tuple[str, dict[str, JsonValue]]:
    """A registered name as it is; that of a domain of the project's with the domain's settings."""
    from flows.params import open_project
    from simulators.registry import names
    from simulrag.errors import InputError

    if ":" in name or name in names():
        return name, {}
    with suppress(InputError):  # a folder without a project, or a name that it does not have
        project, params = open_project()
        return params.chosen(name, project.root)
    return name, {}


@simulators_app.command("verify")
def verify() -> None:
    """Make a few recorded runs of each domain again, on this machine's engines, and compare."""
    from flows.params import open_project
    from flows.recording import stored_runs
    from simulators.base import SimulatorError
    from simulators.registry import load
    from simulrag.errors import SimulRAGError

    project, params = open_project()
    agreed = True
    for domain in params.domains:
        runs = stored_runs(project.root / "data" / "recorded" / f"answer-{domain}.parquet")
        name, settings = params.chosen(domain, project.root)
        if not runs or name == "replay":
            typer.echo(f"{domain}: no recorded run to repeat")
            continue
        try:
            agreed &= _verify(domain, load(name, settings), runs)
        except SimulatorError as error:
            typer.echo(f"{domain}: {error}", err=True)
            agreed = False
    if not agreed:
        raise SimulRAGError("this machine's engines differ from those of the recording (see above)")


def _verify(domain: str, simulator: Simulator, runs: Sequence[RecordedRun]) -> bool:
    from simulators.conformance.verification import some_of, verify

    some = some_of(runs)
    found = verify(simulator, some)
    said = [f"{found.equal} of {len(some)} recorded runs made again came out equal"]
    if found.close:
        said.append(f"{found.close} within one step of the last decimal")
    if found.differences:
        said.append(f"different: {'; '.join(found.differences)}")
    typer.echo(f"{domain}: {', '.join(said)}")
    return not found.differences


def _show(findings: list[Finding]) -> None:
    from rich.console import Console
    from rich.table import Column, Table

    table = Table("", "looked at", "seen", Column("problems", overflow="fold"), show_lines=True)
    for finding in findings:
        mark = "passed" if finding.passed else "FAILED"
        table.add_row(mark, finding.what, finding.seen, "\n".join(finding.folded))
    Console().print(table)
