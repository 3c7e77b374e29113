"""dvc.yaml, written from the stages' declarations: ``simulrag docs dvc``."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import Any

from ruamel.yaml import YAML

from simulrag.registry import stage_modules
from simulrag.stage import Stage

HEAD = """\
# The pipeline, written by `simulrag docs dvc` from the stages in flows/stages and the rooms': edit
# those. Deps are folders, so adding a file or a domain edits nothing here: domains and their
# simulators are in params.yaml. What is in `operations`, and what the stages share in flows/,
# changes no result, and no stage names it. A stage over an empty list is off.
"""
ASKING = ("simulrag/models", "simulrag/calls", "simulrag/task.py")
"""What a stage that asks a model rests on, further to what it declares."""


def dvc_yaml(stages: Sequence[Stage]) -> str:
    """The file's text."""
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


def module_file(stage: str) -> str:
    """The file that declares a stage, from the project's folder."""
    return stage_modules().get(stage, f"flows.stages.{stage}").replace(".", "/") + ".py"


def entry(stage: Stage) -> dict[str, Any]:
    """One stage as DVC has it; ``{item}`` becomes the matrix's value."""

    def here(declared: str) -> str:
        return declared.replace("{item}", f"${{item.{stage.each}}}")

    found: dict[str, Any] = {}
    if stage.over:
        found["matrix"] = {stage.each: f"${{{stage.over}}}"}
    found["cmd"] = f"simulrag stage {stage.name}"
    if stage.over:
        found["cmd"] += here(" --domain {item}")
    if stage.always:
        found["always_changed"] = True
    deps = [*stage.reads, *(("data/recorded", "prompts") if stage.role else ()), *stage.code]
    deps += [one for one in ASKING if stage.role]
    declared = module_file(stage.name)
    if not any(declared.startswith(f"{folder}/") for folder in deps):
        deps.append(declared)
    if not stage.always:
        found["deps"] = list(map(here, deps))
    sections = [*stage.sections, *(("prompts", f"llm.{stage.role}") if stage.role else ())]
    if sections:
        found["params"] = list(map(here, sections))
    outs: list[Any] = list(map(here, stage.makes))
    if stage.role:
        name = stage.named("{item}")
        outs.append({here(f"data/calls/{name}.parquet"): {"persist": True}})
    found["outs"] = outs
    if stage.measures:
        found["metrics"] = [{here(one): {"cache": False}} for one in stage.measures]
    return found
