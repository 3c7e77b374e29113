"""``simulrag docs``: docs/reference.md and dvc.yaml, written from the code that defines them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import grimp
import typer
from ruamel.yaml import YAML

from flows.cli.app import every_command
from flows.files import write_text
from flows.hooks import stages_of_rooms
from flows.params import describe
from flows.project import find_project
from flows.stages import stage_names, stages
from simulrag.method import recipes
from simulrag.stage import Stage

app = typer.Typer()
docs_app = typer.Typer(no_args_is_help=True, help="Pages of the documentation made from the code.")
app.add_typer(docs_app, name="docs")


@docs_app.command("reference")
def write_reference() -> None:
    """Write docs/reference.md; a test compares."""
    write_text(find_project().root / "docs" / "reference.md", reference())


@docs_app.command("dvc")
def write_dvc() -> None:
    """Write dvc.yaml from the declarations of stages, and drop removed ones from dvc.lock.

    A test compares both.
    """
    root = find_project().root
    write_text(root / "dvc.yaml", dvc_yaml(stages()))
    lock = root / "dvc.lock"
    if lock.is_file():
        write_text(lock, without_the_gone(lock.read_text(encoding="utf-8"), stage_names()))


def reference() -> str:
    """Return the page, as Markdown."""
    commands = [
        (name, " ".join((command.help or "").split()))
        for name, command in every_command()
        if not hasattr(command, "commands")
    ]
    lines = [
        "# Reference",
        "",
        "Made by `simulrag docs reference` from the code; do not edit it by hand.",
        "",
        "## Commands",
        "",
        "`simulrag COMMAND --help` shows the arguments. Exit codes: 0 success, 1 a failed run or a",
        "fault of the machine, 2 a mistake in a command or a file (one line says which), 3 a wrong",
        "statement (`simulrag check`), 75 calls that wait for a batch, 130 Ctrl-C.",
        "",
        "| command | what it does |",
        "| --- | --- |",
        *(f"| `simulrag {name}` | {text} |" for name, text in commands),
        "",
        "## Parameters",
        "",
        "`ROLE` is `benchmark`, `answer` or `judge`.",
        "",
        "| in params.yaml | meaning |",
        "| --- | --- |",
        *(f"| `{name}` | {meaning} |" for name, meaning in _by_role(describe())),
    ]
    return "\n".join(lines) + "\n"


def _by_role(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the parameters with one row for the three models' equal sections: ``llm.ROLE``."""
    first = "llm.benchmark."
    others = ("llm.answer.", "llm.judge.")
    return [
        (f"llm.ROLE.{name.removeprefix(first)}" if name.startswith(first) else name, meaning)
        for name, meaning in rows
        if not name.startswith(others)
    ]


HEAD = """\
# The pipeline, written by `simulrag docs dvc` from the stages in flows/stages and the rooms': edit
# those. Deps are folders, so adding a file or a domain edits nothing here: domains and their
# simulators are in params.yaml. What is in `operations`, and what the stages share in flows/,
# changes no result, and no stage names it. A stage over an empty list is off.
"""
ASKING = ("simulrag.models", "simulrag.calls", "simulrag.task")
"""What a stage that asks a model rests on: its bench, which stands in flows/, opens them."""
NO_RESULT = frozenset(
    {
        *("simulrag", "simulrag.errors", "simulrag.stage", "simulrag.stand_in"),
        *("simulators", "simulators.registry"),
    }
)
"""Modules that change no result."""
COUNTED = ("flows.report", "flows.stages")
"""What of flows/ changes results."""
FAMILIES = "simulrag.metrics.families"
"""It imports the families that are there."""
FEW = 2
"""So many modules of a package are named one by one."""


def dvc_yaml(stages: Sequence[Stage]) -> str:
    """Return the file's text."""
    text = StringIO()
    yaml = YAML()
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.dump({"stages": {stage.name: entry(stage) for stage in stages}}, text)
    lines = text.getvalue().splitlines(keepends=True)
    about = {f"  {stage.name}:\n": f"  # {stage.about}\n" for stage in stages}
    spaced = [f"\n{about[line]}{line}" if line in about else line for line in lines]
    return HEAD + "".join(spaced).replace("stages:\n\n", "stages:\n", 1)


def without_the_gone(lock: str, stages: Sequence[str]) -> str:
    """dvc.lock's text with these stages only; the same text where it holds no other."""
    yaml = YAML()
    yaml.width = 4096
    locked = yaml.load(lock)
    gone = [run for run in locked["stages"] if run.partition("@")[0] not in stages]
    if not gone:
        return lock
    for run in gone:
        del locked["stages"][run]
    text = StringIO()
    yaml.dump(locked, text)
    return text.getvalue()


def module_of(stage: str) -> str:
    """Return the module that declares a stage of the project."""
    return stages_of_rooms().get(stage, f"flows.stages.{stage}")


@cache
def _imports() -> grimp.ImportGraph:
    """Which module of ours imports which, also within functions."""
    ours = [name for name in ("flows", "rooms", "simulators", "simulrag") if find_spec(name)]
    return grimp.build_graph(*ours, exclude_type_checking_imports=True, cache_dir=None)


def reached(stage: str) -> set[str]:
    """Return the modules that a stage's own module leads to and that its result rests on.

    What the stages share in flows/ opens and writes, and the values of a room's section are
    parameters: neither changes a result.
    """
    graph, seen = _imports(), set[str]()
    ahead = {module_of(stage)} & graph.modules
    while ahead:
        seen |= ahead
        after = {
            name for module in ahead for name in graph.find_modules_directly_imported_by(module)
        }
        # Neither is seen in the imports: these modules are imported by their names.
        if FAMILIES in after:
            after |= graph.find_children(FAMILIES)
        if recipes.__name__ in after:
            after |= {recipe.module for recipe in recipes.RECIPES.values()}
        ahead = {name for name in after - seen - NO_RESULT if _counts(name)}
    return seen


def _counts(module: str) -> bool:
    if module.startswith("flows"):
        return module.startswith(COUNTED)
    return not (module.startswith("rooms.") and module.endswith(".settings"))


def code_of(stage: Stage) -> list[str]:
    """List the files of ``reached``; a package with more than a few of them as its folder."""
    packages: dict[str, set[str]] = {}
    for module in reached(stage.name):
        packages.setdefault(".".join(module.split(".")[:2]), set()).add(module)
    few = {name for modules in packages.values() if len(modules) <= FEW for name in modules}
    whole = {package for package, modules in packages.items() if len(modules) > FEW}
    if stage.role:
        few = {name for name in few if not name.startswith(ASKING)}
        whole |= set(ASKING)
    return sorted({*map(_file, few | whole)} - {*stage.code})


def _file(module: str) -> str:
    """Tell where a module or a package lies, from the project's folder."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    folder = module.replace(".", "/")
    return folder if Path(spec.origin).name == "__init__.py" else f"{folder}.py"


def entry(stage: Stage) -> dict[str, Any]:
    """One stage as DVC has it; ``{item}`` becomes the matrix's value."""

    def here(declared: str) -> str:
        return declared.replace("{item}", f"${{item.{stage.each}}}")

    declared: dict[str, Any] = {}
    if stage.over:
        declared["matrix"] = {stage.each: f"${{{stage.over}}}"}
    declared["cmd"] = f"simulrag stage {stage.name}"
    if stage.over:
        declared["cmd"] += here(" --domain {item}")
    if stage.always:
        declared["always_changed"] = True
    deps = [*stage.reads, *(("data/recorded", "prompts") if stage.role else ()), *stage.code]
    deps += code_of(stage)
    if not stage.always:
        declared["deps"] = list(map(here, deps))
    sections = [*stage.sections, *(("prompts", f"llm.{stage.role}") if stage.role else ())]
    if sections:
        declared["params"] = list(map(here, sections))
    outs: list[Any] = list(map(here, stage.makes))
    if stage.role:
        name = stage.named("{item}")
        outs.append({here(f"data/calls/{name}.parquet"): {"persist": True}})
    declared["outs"] = outs
    if stage.measures:
        declared["metrics"] = [{here(file): {"cache": False}} for file in stage.measures]
    return declared
