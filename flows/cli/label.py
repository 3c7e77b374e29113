"""``simulrag label``: claims out to people, and their labels back into the project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from flows.files import read_records, read_table, write_records, write_text
from flows.params import load_params, unknown
from flows.project import Project, find_project
from simulrag.errors import InputError
from simulrag.judging import label_studio
from simulrag.judging.label_studio import read_export
from simulrag.judging.people import HumanLabel, OfferedClaim, in_order, majority_label, offers
from simulrag.questions.published import read_questions
from simulrag.records import Answer, Label

app = typer.Typer()
label_app = typer.Typer(no_args_is_help=True, help="Labels by people, which override the judge's.")
app.add_typer(label_app, name="label")

Sample = Annotated[
    int | None,
    typer.Option(help="How many claims to offer, the judge's undecided first (default: all)."),
]
Domains = Annotated[
    list[str] | None, typer.Option("--domain", "-d", help="A domain (default: all of params.yaml).")
]


@label_app.command("export")
def export(
    sample: Sample = None,
    domain: Domains = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write into.")] = None,
) -> None:
    """Write the claims as Label Studio tasks, with their labelling interface."""
    project = find_project()
    offered = _offers(project, sample, domain)
    folder = project.results.label_studio if out is None else out
    shown = folder.relative_to(project.root) if out is None else folder
    tasks = json.dumps(label_studio.tasks(offered), indent=1, ensure_ascii=False)
    write_text(folder / "tasks.json", tasks + "\n")
    write_text(folder / "config.xml", label_studio.config())
    typer.echo(f"{len(offered)} claims -> {shown}/tasks.json, their interface -> config.xml")


@label_app.command("import")
def import_labels(
    files: Annotated[list[Path], typer.Argument(help="Exports of Label Studio, type JSON.")],
    drop_unknown: Annotated[
        bool, typer.Option("--drop-unknown", help="Leave out labels of claims that nobody made.")
    ] = False,
) -> None:
    """Replace data/labels/human.jsonl by the labels of these files, whole or not at all."""
    project = find_project()
    given = [label for file in files for label in read_export(content(file), str(file))]
    path = project.results.human_labels
    if not given and path.is_file():
        raise InputError(
            f"the files hold no label, and {path.relative_to(project.root)} has some: they stay. "
            "Remove that file first if they are to go"
        )
    labels = _known(project, given, drop_unknown)
    settled = majority_label(labels)
    write_records(path, in_order(labels))
    waiting = sum(claim.disputed and claim.adjudication is None for claim in settled.values())
    typer.echo(
        f"{len(labels)} labels of {len(settled)} claims -> {path.relative_to(project.root)}; "
        f"{len(given) - len(labels)} left out; {waiting} claims wait for an adjudication"
    )


def _offers(project: Project, sample: int | None, domains: list[str] | None) -> list[OfferedClaim]:
    params = load_params(project.params)
    chosen = domains or params.domains
    place = project.results
    for name in chosen:
        if name not in params.domains:
            raise InputError(unknown("domain", name, params.domains))
    return offers(
        [question for name in chosen for question in read_questions(place.benchmark(name))],
        [answer for name in chosen for answer in read_records(place.answers(name), Answer)],
        [label for name in chosen for label in read_table(place.labels(name), Label)],
        sample=sample,
        seed=params.metrics.seed,
    )


def content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None


def _known(project: Project, labels: list[HumanLabel], drop: bool) -> list[HumanLabel]:
    """Return the labels of claims that the judge was shown; others are an error unless dropped."""
    judged = {
        (label.question_id, label.claim_hash)
        for domain in load_params(project.params).domains
        for label in read_table(project.results.labels(domain), Label)
    }
    known = [label for label in labels if (label.question_id, label.claim_hash) in judged]
    strangers = [label for label in labels if (label.question_id, label.claim_hash) not in judged]
    if strangers and not drop:
        first = strangers[0]
        raise InputError(
            f"{len(strangers)} of {len(labels)} labels are of claims that these answers do not "
            f"have, the first: '{first.text[:60]}' of question '{first.question_id}' by "
            f"'{first.annotator}'. Import them into the project they were made in, or leave them "
            "out with --drop-unknown"
        )
    return known
