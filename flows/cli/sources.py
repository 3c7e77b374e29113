"""``simulrag simulators``, ``library``, ``import-official``: what questions and evidence are of."""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.console import Console
from rich.table import Column, Table

from flows.cli.output import json_object, look_here
from flows.files import check_folder, write_records, write_text
from flows.params import check_params, domain_lists, open_project, unknown
from flows.params_file import changed, read_params
from flows.project import find_project
from flows.sections import check_name
from simulators.base import Simulator, SimulatorError
from simulators.conformance import Finding, RecordedRun, some_of
from simulators.conformance import check as check_simulator
from simulators.conformance import verify as verify_runs
from simulators.library.builder import build_corpus
from simulators.registry import load, names
from simulrag.errors import InputError, SimulRAGError
from simulrag.questions.published import QUESTIONS, read_published

app = typer.Typer()
simulators_app = typer.Typer(no_args_is_help=True, help="Simulators: of this project, and yours.")
library_app = typer.Typer(no_args_is_help=True, help="Documents as evidence.")
app.add_typer(simulators_app, name="simulators")
app.add_typer(library_app, name="library")


STARTER = {
    "pyproject.toml": "pyproject.toml",
    "__init__.py": "src/{name}/__init__.py",
    "simulator.py": "src/{name}/simulator.py",
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
        write_text(file, re.sub("|".join(words), lambda match: words[match[0]], text))
        typer.echo(file)
    typer.echo(
        "\nIt simulates a reservoir; put your own model into "
        f"{name}/src/{name}/simulator.py. Then:\n\n"
        f"  pip install -e {name}\n"
        f"  simulrag simulators check {name}\n"
        f"  simulrag domains {name}\n\n"
        "which writes it into params.yaml as the one domain that runs."
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
    """Check a simulator without a model, and list the findings; exit 1 if one fails."""
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


@app.command(epilog="Example: simulrag domains urban reservoir")
def domains(
    chosen: Annotated[
        list[str], typer.Argument(help="Domains of params.yaml, or installed simulators.")
    ],
) -> None:
    """Choose the domains that run, in every list of params.yaml.

    What rooms name that does not run is taken out there too; an installed simulator gets an entry.
    """
    path = find_project().params
    there = read_params(path).get("simulators") or {}
    added = [name for name in chosen if name not in there]
    for name in added:
        if name not in names():
            known = unknown("domain", name, sorted({*there, *names()}))
            raise InputError(f"{known}; install a package of yours first (`pip install -e FOLDER`)")
    lists, entries = domain_lists(path, chosen), {f"simulators.{n}": {"name": n} for n in added}
    text = changed(path, {**lists, **entries})
    check_params(text, path.name)
    write_text(path, text)
    for place, listed in lists.items():
        typer.echo(f"{place}: {', '.join(listed) or 'none, so these stages are off'}")
    for place, entry in entries.items():
        typer.echo(f"{place}: its simulator is {entry['name']}, without settings")


def _of_domain(name: str) -> tuple[str, dict[str, JsonValue]]:
    """Return a registered name as it is, that of a domain of the project's with its settings."""
    if ":" in name or name in names():
        return name, {}
    with suppress(InputError):  # a folder without a project, or a name that it does not have
        project, params = open_project()
        return params.chosen(name, project.root)
    return name, {}


@simulators_app.command("verify")
def verify() -> None:
    """Repeat a few recorded runs of each domain on this machine, and compare."""
    from flows.recording import stored_runs  # with polars

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
    some = some_of(runs)
    repeated = verify_runs(simulator, some)
    words = [f"{repeated.equal} of {len(some)} recorded runs made again came out equal"]
    if repeated.close:
        words.append(f"{repeated.close} within one step of the last decimal")
    if repeated.differences:
        words.append(f"different: {'; '.join(repeated.differences)}")
    typer.echo(f"{domain}: {', '.join(words)}")
    return not repeated.differences


def _show(findings: list[Finding]) -> None:
    table = Table("", "looked at", "seen", Column("problems", overflow="fold"), show_lines=True)
    for finding in findings:
        mark = "passed" if finding.passed else "FAILED"
        told = [*finding.folded, *(f"note: {note}" for note in finding.notes)]
        table.add_row(mark, finding.what, finding.seen, "\n".join(told))
    Console().print(table)


@app.command("import-official")
def import_official(
    folder: Annotated[
        Path, typer.Argument(help="The folder of one domain, such as FOLDER/urban, or of all.")
    ],
    domain: Annotated[
        str | None, typer.Option(help="Domain of the one folder (default: its name).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write, of one domain (default: data/imported/DOMAIN.jsonl)."),
    ] = None,
) -> None:
    """Import published benchmark folders as questions.

    A domain's folder has questions.json and simulator_evidence.json, or the layout of the authors'
    repository (evidence in cache/DOMAIN beside it).
    """
    folders = [folder]
    if not (folder / QUESTIONS).is_file():
        folders = sorted(file.parent for file in folder.glob(f"*/{QUESTIONS}")) or folders
    if len(folders) > 1 and (domain or out):
        raise InputError(f"{folder} holds several domains: --domain and --out go with one of them")
    imported = {}
    for place in folders:
        name = domain or Path(os.path.realpath(place)).name
        check_name(name, "name each folder's by --domain")
        imported[name] = read_published(place, name)
    for name, questions in imported.items():
        file = out or find_project().results.imported(name)
        check_folder(file.parent)
        write_records(file, questions)
        here = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
        scenarios = len({question.scenario_id for question in questions})
        counted = f"{len(questions)} questions on {scenarios} distinct scenarios"
        typer.echo(f"{name}: {counted} -> {here}")
    typer.echo(
        f"What running them costs: simulrag plan --benchmark {here.parent}\n"
        f"To run them:             simulrag run --benchmark {here.parent}\n"
        "Few of each domain first: --limit 3. With DVC: docs/read-the-report.md"
    )


@library_app.command(
    "build",
    epilog="Example: simulrag library build corpus/docs docs --licence Apache-2.0 "
    '--attribution "The SimulRAG authors"',
)
def build(
    out: Annotated[Path, typer.Argument(help="The folder of the corpus; a corpus is replaced.")],
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Markdown, plain text, JSONL, folders; PDF, HTML and others by markitdown."
        ),
    ],
    licence: Annotated[
        str, typer.Option(help="The licence of the files that carry none: all but JSONL.")
    ] = "",
    attribution: Annotated[str, typer.Option(help="Who is to be credited for those files.")] = "",
    dense: Annotated[
        bool,
        typer.Option("--dense", help="Make sentence vectors too (needs simulrag[library-dense])."),
    ] = False,
) -> None:
    """Make a corpus: passages of the files, each with its licence, and their index."""
    built = build_corpus(out, files, licence=licence, attribution=attribution, dense=dense)
    pages = sum(source.pages for source in built.manifest.sources)
    repeated = f", {built.repeated} repeated ones left out" if built.repeated else ""
    typer.echo(f"{out}: {built.manifest.passages} passages of {pages} pages{repeated}")
    for source in built.manifest.sources:
        credit = f"{source.attribution}. Licence: {source.licence}"
        typer.echo(f"  {source.document}: {source.passages} passages. {credit}")
