"""``simulrag cache``: what is stored, checked, and carried to other places."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.output import Json, show

if TYPE_CHECKING:
    from simulrag.calls import CachePlace, StoredCall

cache_app = typer.Typer(no_args_is_help=True, help="The call cache: what was paid for.")

CacheFile = Annotated[Path, typer.Argument(help="A Parquet file.")]
CacheFiles = Annotated[list[Path], typer.Argument(help="Parquet files.")]
Place = Annotated[
    str, typer.Argument(help="A folder (from where you are), diskcache:DIR or redis://HOST:PORT/DB")
]


@cache_app.command("stats")
def cache_stats_command(as_json: Json = False) -> None:
    """Entries, hits and misses of each stage's last run, and how long calls took."""
    from simulrag.calls import cache_stats

    stats = cache_stats(_cache())
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
    """Show a call: what was asked, and what came back. The report names keys."""
    from simulrag.calls import read_calls
    from simulrag.errors import InputError

    found = list(islice(read_calls(_cache(), key), 2))
    if len(found) != 1:
        several = "several calls begin" if found else "no call begins"
        raise InputError(
            f"{several} with {key!r} in this project's cache: name a key from the report, where a "
            "question shows its calls (`simulrag run` reads recorded ones in)"
        )
    (call,) = found
    show(as_json, call.model_dump(mode="json", exclude={"latency_s"}), *_told(call))


@cache_app.command("verify")
def cache_verify(as_json: Json = False) -> None:
    """Check every row against its key; exit 1 when one does not match."""
    from simulrag.calls import verify_cache

    report = verify_cache(_cache())
    problems = [f"  {problem.key}: {problem.what}" for problem in report.problems]
    said = f"{report.rows} rows checked, {len(problems)} problems"
    show(as_json, report.model_dump(mode="json"), said, *problems)
    if report.problems:
        raise typer.Exit(1)


@cache_app.command("export")
def cache_export(file: CacheFile, as_json: Json = False) -> None:
    """Write every call of the cache to a Parquet file."""
    from simulrag.calls import export_cache

    count = export_cache(_cache(), file)
    show(as_json, {"exported": count}, f"{count} calls -> {file}")


@cache_app.command("import")
def cache_import(files: CacheFiles, as_json: Json = False) -> None:
    """Read calls from Parquet files; a row that does not match its key is refused."""
    from simulrag.calls import import_cache
    from simulrag.errors import InputError

    report = import_cache(_cache(), *files)
    said = f"{report.imported} imported, {report.present} were there"
    show(as_json, report.model_dump(mode="json"), said)
    if report.refused:
        raise InputError(f"{len(report.refused)} rows do not match their keys and were refused")


@cache_app.command("copy")
def cache_copy(source: Place, target: Place, as_json: Json = False) -> None:
    """Copy a cache to another place (DIR, diskcache:DIR, redis[s]://HOST:PORT/DB); repeatable."""
    from simulrag.calls import copy_cache, parse_place
    from simulrag.errors import InputError
    from simulrag.models.pending import copy_pending

    places = parse_place(source), parse_place(target)
    report = copy_cache(*places)
    waiting = copy_pending(*places)
    said = (
        f"{report.imported} rows copied, {report.present} were there; "
        f"{waiting} calls that wait for a batch copied"
    )
    show(as_json, report.model_dump(mode="json") | {"pending": waiting}, said)
    if report.refused:
        raise InputError(
            f"{len(report.refused)} rows cannot be trusted and were refused (the first: "
            f"{report.refused[0]}); the others are copied"
        )


def _told(call: StoredCall) -> Iterator[str]:
    """A call for people: the texts of its messages stand as they are."""
    from simulrag.calls import canonical_json

    for name, value in {"key": call.key, "kind": call.kind, **call.request}.items():
        if name != "messages":
            yield f"{name}: {value if isinstance(value, str) else canonical_json(value)}"
    messages: Any = call.request.get("messages", ())
    for message in messages:
        yield f"\n--- {message['role']} ---\n{message['content']}"
    reply = call.response
    yield f"\n--- reply ---\n{reply if isinstance(reply, str) else canonical_json(reply)}"


def _cache() -> CachePlace:
    from flows.params import open_project

    project, params = open_project()
    return params.operations.place(project.root)
