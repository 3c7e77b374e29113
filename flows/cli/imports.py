"""``simulrag import-official``: published benchmark folders as questions of a domain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_official(
    folder: Annotated[Path, typer.Argument(help="The folder of one domain, such as FOLDER/urban.")],
    domain: Annotated[str | None, typer.Option(help="Domain (default: the folder's name).")] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write (default: data/imported/DOMAIN.jsonl).")
    ] = None,
) -> None:
    """Import a published benchmark folder as questions.

    The folder holds questions.json and simulator_evidence.json.
    """
    from flows.files import check_folder, write_records
    from simulrag.questions.published import read_published

    name = domain or folder.resolve().name
    questions = read_published(folder, name)
    if out is None:
        from flows.project import find_project

        project = find_project()
        out = project.results.imported(name)
        shown = out.relative_to(project.root)
    else:
        shown = out
    check_folder(out.parent)
    write_records(out, questions)
    scenarios = len({question.scenario_id for question in questions})
    typer.echo(f"{len(questions)} questions on {scenarios} distinct scenarios -> {shown}")
    typer.echo(
        f"To run them with DVC, put '{name}-published' under domains in params.yaml and under "
        f"simulators:\n  {name}-published: {{name: replay, settings: {{benchmark: {shown}, "
        f"domain: {name}}}}}\nthen: simulrag run\n"
        f"Without DVC: simulrag stage answer --benchmark {shown} --domain {name} "
        "--simulator replay --out DIR"
    )
