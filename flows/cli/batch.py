"""``simulrag batch``: calls that wait in mode deferred, to batches or a file and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.output import Json, show

if TYPE_CHECKING:
    from simulrag.models.batch.rounds import BatchBudget, BatchProgress
    from simulrag.models.pending import PendingStore

batch_app = typer.Typer(
    no_args_is_help=True, help="Calls that wait in mode deferred: the half-price path."
)

SHOWN_REFUSALS = 10
NOTHING = "no call waits to be sent"


@batch_app.command("export")
def batch_export(
    out: Annotated[
        Path | None,
        typer.Option(help="Folder (default: batches/ beside the cache, .cache/ for Redis)."),
    ] = None,
    plain: Annotated[
        Path | None,
        typer.Option(help="Instead one file of plain messages and schemas, JSON lines."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the waiting calls as batch files, one for each model, within its provider's limits."""
    from simulrag.models.batch.rounds import export, export_plain

    with _store() as (store, batches):
        if plain is not None:
            count = export_plain(store, plain)
            show(as_json, {"exported": count}, f"{count} calls -> {plain}")
            return
        written = export(store, out or batches)
    lines = [f"{at.requests} calls, {at.size_bytes / 1e6:.1f} MB -> {at.path}" for at in written]
    show(as_json, [file.model_dump() for file in written], *(lines or [NOTHING]))


@batch_app.command("submit")
def batch_submit(
    again: Annotated[
        bool, typer.Option("--again", help="Send the calls of an interrupted submission anew.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Send the waiting calls to their providers as batches."""
    from simulrag.models.batch.rounds import submit

    sent = []
    with _store() as (store, _), _budget() as budget:
        for item in submit(store, budget.check, again=again):
            sent.append(item.model_dump())
            if not as_json:
                typer.echo(f"{item.requests} calls sent as {item.provider_id} ({item.name})")
    if as_json or not sent:
        show(as_json, sent, NOTHING)


@batch_app.command("status")
def batch_status(as_json: Json = False) -> None:
    """Ask the providers how far the batches are."""
    from simulrag.models.batch.rounds import counts, status

    with _store() as (store, _):
        batches = status(store)
        found = counts(store.calls())
    told = {"calls": found, "batches": [item.model_dump() for item in batches]}
    counted = ", ".join(f"{n} {state}" for state, n in found.items())
    show(as_json, told, counted, *map(_progress, batches))


@batch_app.command("import")
def batch_import(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files of results, or of lines custom_id, text, model, context; none: ask."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Bring replies: of the batches that have ended, or from files."""
    from simulrag.errors import InputError
    from simulrag.models.batch.rounds import fetch, read_files

    with _store() as (store, _):
        report, batches = (read_files(store, files), []) if files else fetch(store)
    failed = f" ({report.failed} of them refusals or cut off)" if report.failed else ""
    lines = [f"{report.answered} calls answered{failed}, {report.present} were before"]
    if report.again:
        lines.append(f"{report.again} calls without a reply wait to be sent again")
    lines += [f"  refused: {line}" for line in report.refused[:SHOWN_REFUSALS]]
    going = [item for item in batches if item.state is None or not item.state.ended]
    show(as_json, report.model_dump(), *lines, *map(_progress, going))
    if report.refused:
        raise InputError(
            f"{len(report.refused)} replies belong to no pending call and were refused (the first: "
            f"{report.refused[0]}); the others are in"
        )


def _progress(item: BatchProgress) -> str:
    batch, state = item.batch, item.state
    if state is None:
        return f"  {batch.name}: submission was interrupted, see `simulrag batch submit`"
    problem = f": {state.problem}" if state.problem else ""
    done = f"{state.status}, {state.done} of {state.total or batch.size}{problem}"
    return f"  {batch.name} ({batch.provider_id}): {done}"


@contextmanager
def _store() -> Iterator[tuple[PendingStore, Path]]:
    from flows.params import open_project
    from simulrag.models.pending import PendingStore

    project, params = open_project()
    cache = params.operations.place(project.root)
    beside = cache.parent if isinstance(cache, Path) else project.root / ".cache"
    with closing(PendingStore(cache)) as store:
        yield store, beside / "batches"


@contextmanager
def _budget() -> Iterator[BatchBudget]:
    from flows.params import open_project
    from simulrag.calls import CallCache
    from simulrag.models.batch.rounds import BatchBudget
    from simulrag.models.budget import Account
    from simulrag.models.prices import read_prices

    project, params = open_project()
    operations = params.operations
    limits, prices = operations.budget, read_prices(project.prices)
    with CallCache(operations.place(project.root), stage="batch-submit", mode="replay") as cache:
        yield BatchBudget(limits, Account(cache.ledger(), prices, limits.since))
