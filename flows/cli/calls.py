"""``simulrag cache`` and ``batch``: calls that are stored, and calls that wait for a batch.

What is stored is checked and carried to other places; what waits in mode deferred goes to batches
or a file, and comes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.output import Json, show
from flows.params import open_project
from simulrag.calls import (
    CachePlace,
    CallCache,
    StoredCall,
    cache_stats,
    canonical_json,
    copy_cache,
    export_cache,
    import_cache,
    parse_place,
    read_calls,
    verify_cache,
)
from simulrag.errors import InputError, SimulRAGError
from simulrag.models.batch.rounds import (
    BatchBudget,
    BatchProgress,
    counts,
    export,
    export_plain,
    fetch,
    give_up,
    read_files,
    status,
    submit,
)
from simulrag.models.budget import Account
from simulrag.models.pending import PendingStore, copy_pending
from simulrag.models.prices import read_prices

app = typer.Typer()
cache_app = typer.Typer(no_args_is_help=True, help="The call cache: what was paid for.")
batch_app = typer.Typer(
    no_args_is_help=True, help="Calls that wait in mode deferred: the half-price path."
)
app.add_typer(cache_app, name="cache")
app.add_typer(batch_app, name="batch")

CacheFile = Annotated[Path, typer.Argument(help="A Parquet file.")]
CacheFiles = Annotated[list[Path], typer.Argument(help="Parquet files.")]
Place = Annotated[
    str, typer.Argument(help="A folder (from where you are), diskcache:DIR or redis://HOST:PORT/DB")
]


@cache_app.command("stats")
def cache_stats_command(as_json: Json = False) -> None:
    """Entries, hits and misses of each stage's last run, and how long calls took."""
    stats = cache_stats(_place())
    lines = [f"{stats.entries} entries, {stats.size_bytes / 1e6:.1f} MB"]
    for name, stage in sorted(stats.stages.items()):
        counts = f"{stage.hits} hits, {stage.misses} misses, {stage.missing} missing"
        lines.append(f"  {name}: {counts} in its last run")
    for row in stats.times:
        lines.append(
            f"  {row.name}: {row.calls} calls made here took {row.total_s:.1f} s one by "
            f"one, {row.median_s:.3f} s the median, {row.slowest_s:.3f} s the slowest"
        )
    show(as_json, stats.model_dump(mode="json"), *lines)


@cache_app.command("show")
def cache_show(
    key: Annotated[str, typer.Argument(help="A call's key, or how it begins.")],
    as_json: Json = False,
) -> None:
    """Show a call by its key: the request and the reply. The report names keys."""
    calls = list(islice(read_calls(_place(), key), 2))
    if len(calls) != 1:
        several = "several calls begin" if calls else "no call begins"
        raise InputError(
            f"{several} with {key!r} in this project's cache: name a key from the report, where a "
            "question shows its calls (`simulrag run` reads recorded ones in)"
        )
    (call,) = calls
    show(as_json, call.model_dump(mode="json", exclude={"latency_s"}), *_told(call))


@cache_app.command("verify")
def cache_verify(as_json: Json = False) -> None:
    """Check every row against its key; exit 1 when one does not match."""
    report = verify_cache(_place())
    problems = [f"  {problem.key}: {problem.what}" for problem in report.problems]
    checked = f"{report.rows} rows checked, {len(problems)} problems"
    show(as_json, report.model_dump(mode="json"), checked, *problems)
    if report.problems:
        raise typer.Exit(1)


@cache_app.command("export")
def cache_export(file: CacheFile, as_json: Json = False) -> None:
    """Write every call of the cache to a Parquet file."""
    count = export_cache(_place(), file)
    show(as_json, {"exported": count}, f"{count} calls -> {file}")


@cache_app.command("import")
def cache_import(files: CacheFiles, as_json: Json = False) -> None:
    """Read calls from Parquet files; a row that does not match its key is refused."""
    report = import_cache(_place(), *files)
    taken = f"{report.imported} imported, {report.present} were there"
    show(as_json, report.model_dump(mode="json"), taken)
    if report.refused:
        raise InputError(f"{len(report.refused)} rows do not match their keys and were refused")


@cache_app.command("copy")
def cache_copy(source: Place, target: Place, as_json: Json = False) -> None:
    """Copy a cache to another place (DIR, diskcache:DIR, redis[s]://HOST:PORT/DB); repeatable."""
    places = parse_place(source), parse_place(target)
    report = copy_cache(*places)
    waiting = copy_pending(*places)
    copied = (
        f"{report.imported} rows copied, {report.present} were there; "
        f"{waiting} calls that wait for a batch copied"
    )
    show(as_json, report.model_dump(mode="json") | {"pending": waiting}, copied)
    if report.refused:
        raise InputError(
            f"{len(report.refused)} rows cannot be trusted and were refused (the first: "
            f"{report.refused[0]}); the others are copied"
        )


def _told(call: StoredCall) -> Iterator[str]:
    """Yield a call for people: the texts of its messages stand as they are."""
    for name, value in {"key": call.key, "kind": call.kind, **call.request}.items():
        if name != "messages":
            yield f"{name}: {value if isinstance(value, str) else canonical_json(value)}"
    messages: Any = call.request.get("messages", ())
    for message in messages:
        yield f"\n--- {message['role']} ---\n{message['content']}"
    reply = call.response
    yield f"\n--- reply ---\n{reply if isinstance(reply, str) else canonical_json(reply)}"


def _place() -> CachePlace:
    project, params = open_project()
    return params.operations.place(project.root)


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
    """Ask the providers for the state of the batches."""
    with _store() as (store, _):
        batches = status(store)
        states = counts(store.calls())
    fields = {"calls": states, "batches": [item.model_dump() for item in batches]}
    counted = ", ".join(f"{n} {state}" for state, n in states.items())
    show(as_json, fields, counted, *map(_progress, batches))
    if problem := _problem(batches):
        raise SimulRAGError(problem)


@batch_app.command("drop")
def batch_drop(
    name: Annotated[str, typer.Argument(help="The batch's name, as `batch status` shows it.")],
    as_json: Json = False,
) -> None:
    """Give up a batch that its provider no longer has: its calls are to be sent, and paid, anew."""
    with _store() as (store, _):
        again = give_up(store, name)
    told = f"{again} calls of {name} wait; `simulrag batch submit` sends, and pays, them anew"
    show(as_json, {"again": again}, told)


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
    """Import replies, of finished batches or from files."""
    with _store() as (store, _), _budget() as budget:
        bill = budget.bill
        report, batches = (read_files(store, files, bill), []) if files else fetch(store, bill)
    failed = f" ({report.failed} of them fail: refused, cut off, odd)" if report.failed else ""
    lines = [f"{report.answered} calls answered{failed}, {report.present} were before"]
    if report.again:
        lines.append(f"{report.again} calls without a reply wait to be sent, and paid, again")
    lines += [f"  refused: {line}" for line in report.refused[:SHOWN_REFUSALS]]
    going = [item for item in batches if item.problem or not (item.state and item.state.ended)]
    problem, refused = _problem(batches), report.refused
    show(as_json, report.model_dump() | {"problem": problem}, *lines, *map(_progress, going))
    said = [f"{len(refused)} lines were refused (the first: {refused[0]})"] if refused else []
    if said or problem:
        kind = InputError if files else SimulRAGError
        raise kind("; ".join([*said, *filter(None, [problem]), "all else is in"]))


def _progress(item: BatchProgress) -> str:
    batch, state = item.batch, item.state
    if item.problem:
        return f"  {batch.name} ({batch.provider_id}): {item.problem}"
    if state is None:
        return f"  {batch.name}: submission was interrupted, see `simulrag batch submit`"
    problem = f": {state.problem}" if state.problem else ""
    done = f"{state.status}, {state.done} of {state.total or batch.size}{problem}"
    return f"  {batch.name} ({batch.provider_id}): {done}"


def _problem(batches: list[BatchProgress]) -> str:
    """Say how many batches could not be had, and the ways on; "" for none."""
    failed = [item for item in batches if item.problem]
    if not failed:
        return ""
    name = failed[0].batch.name
    return (
        f"{len(failed)} of {len(batches)} batches could not be had (the first, {name}: "
        f"{failed[0].problem}). Run this again; `simulrag batch drop {name}` gives up one that its "
        "provider no longer has: its calls are then sent, and paid, anew"
    )


@contextmanager
def _store() -> Iterator[tuple[PendingStore, Path]]:
    project, params = open_project()
    cache = params.operations.place(project.root)
    beside = cache.parent if isinstance(cache, Path) else project.root / ".cache"
    with closing(PendingStore(cache)) as store:
        yield store, beside / "batches"


@contextmanager
def _budget() -> Iterator[BatchBudget]:
    project, params = open_project()
    operations = params.operations
    limits, prices = operations.budget, read_prices(project.prices)
    with CallCache(operations.place(project.root), stage="batch-submit", mode="replay") as cache:
        yield BatchBudget(limits, Account(cache.ledger(), prices, limits.since))
