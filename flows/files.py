"""Outs on disk: JSON lines and tables of records, written whole or not at all."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from simulrag.errors import EnvironmentFault, InputError
from simulrag.records import Record

if TYPE_CHECKING:
    import polars as pl

Kind = TypeVar("Kind", bound=Record)
Result = TypeVar("Result")


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write one JSON object a line, in order; a record is held no longer than its line takes.

    Raises EnvironmentFault where the file cannot be written.
    """
    with _replaced(path) as write:
        for record in records:
            write(record.model_dump_json().encode() + b"\n")


def record_lines(path: Path, kind: type[Kind]) -> Iterator[Kind]:
    """Read the records of a file, one in memory at a time.

    Raises InputError that names the line and the field.
    """
    try:
        # newline: replies may hold the other line separators of Unicode.
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _record(path, number, line, kind)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); run `simulrag run` to make it"
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; run `simulrag run` to make it again") from None


def read_records(path: Path, kind: type[Kind]) -> list[Kind]:
    """Return the records of a file, or an InputError that names the line and the field."""
    return list(record_lines(path, kind))


def _record(path: Path, number: int, line: str, kind: type[Kind]) -> Kind:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "line"
        raise InputError(f"{path}:{number}: {where}: {first['msg']}") from None


def write_text(path: Path, text: str) -> None:
    """Replace a file at once: a reader sees the old text or the new, never a part."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file at once by these bytes. Raises EnvironmentFault where that cannot be."""
    with _replaced(path) as write:
        write(content)


@contextmanager
def _replaced(path: Path) -> Iterator[Callable[[bytes], object]]:
    """Write beside ``path``; that file takes its place once it is whole, else it is gone.

    Raises EnvironmentFault where it cannot be written; what the work in between raises stays as it
    is.
    """
    if path.exists() and not path.is_file():  # a device or a folder: not ours to replace
        raise EnvironmentFault(f"{path} cannot be written: it is no file")
    check_folder(path.parent)
    part = path.with_name(f".{path.name}.part")

    def tried(work: Callable[[], Result]) -> Result:
        try:
            return work()
        except OSError as error:
            raise EnvironmentFault(f"{path} cannot be written: {error.strerror}") from None

    file = tried(lambda: part.open("wb"))
    try:
        yield lambda content: tried(lambda: file.write(content))
        tried(file.close)
        tried(lambda: part.replace(path))
    finally:
        with suppress(OSError):
            file.close()
        part.unlink(missing_ok=True)


def check_folder(folder: Path) -> None:
    """Make a folder for outs, before anything is paid for. Raises EnvironmentFault."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFault(f"folder {folder} cannot be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise EnvironmentFault(f"folder {folder} cannot be written to; check its permissions")


def write_table(path: Path, records: Sequence[Record], kind: type[Record]) -> None:
    """Write flat records as Parquet; columns are the record's fields even where there is no row."""
    import polars as pl

    columns = list(kind.model_fields)
    rows = [record.model_dump(mode="json") for record in records]
    frame = pl.DataFrame({name: [row[name] for row in rows] for name in columns})
    write_frame(path, frame.with_columns(pl.col(pl.Null).cast(pl.String)))


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """Write a frame as Parquet, the same bytes for the same frame."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, statistics=False)
    write_bytes(path, buffer.getvalue())


def read_frame(path: Path, what: str, columns: list[str] | None = None) -> pl.DataFrame:
    """Return a Parquet table of ``what``, or some of its columns. Raises InputError."""
    import polars as pl

    if not path.is_file():
        raise InputError(f"{path} is not there; run `simulrag run` to make it")
    try:
        return pl.read_parquet(path, columns=columns)
    except (OSError, pl.exceptions.PolarsError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"{path} is not a table of {what} ({first}); make it again") from None


def read_table(path: Path, kind: type[Kind]) -> list[Kind]:
    """Return the records of a Parquet table. Raises InputError."""
    frame = read_frame(path, kind.__name__)
    try:
        return [kind.model_validate(row) for row in frame.iter_rows(named=True)]
    except ValidationError as error:
        text = " ".join(str(error).split())[:200]
        raise InputError(f"{path} is not a table of {kind.__name__}: {text}") from None
