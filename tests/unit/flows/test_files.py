"""Outs on disk: what is written is read back, and a bad file is named."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from os import mkfifo, mknod
from pathlib import Path

import pytest

from flows.files import read_records, read_table, write_records, write_table, write_text
from simulrag.errors import EnvironmentFault, InputError
from simulrag.records import AnswerVariant, FinalClaims, Label, ToolCall

LINE = AnswerVariant(method="simulrag", samples=5)


def test_every_character_of_a_reply_survives(tmp_path: Path) -> None:
    """Line separators of Unicode are text, not ends of lines."""
    records = [
        FinalClaims(question_id=f"q{i}", line=LINE, claims=(text,))
        for i, text in enumerate(["a\u2028b", "a\u2029b", "a\u0085b", "a\nb\r\x0c", "\u00b0C"])
    ]
    path = tmp_path / "finals.jsonl"
    write_records(path, records)
    assert read_records(path, FinalClaims) == records


def test_a_table_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    write_table(path, [], Label)
    assert read_table(path, Label) == []


def test_a_table_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    labels = [Label(question_id="q", claim_hash="h", text="t", label=None, failure="no reply")]
    for name in ("a", "b"):
        write_table(tmp_path / name, labels, Label)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert read_table(tmp_path / "a", Label) == labels


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "finals.jsonl"
    path.write_text(
        '{"question_id": "q", "line": {"method": "simulrag", "samples": 5}}\n{"question_id": "q"}\n'
    )
    with pytest.raises(InputError, match=r"finals\.jsonl:2: line"):
        read_records(path, FinalClaims)
    path.write_text('{"tool": "t", "arguments": {}, "left_since": 1}\n')
    with pytest.raises(InputError, match=r"jsonl:1: left_since: Extra inputs"):
        read_records(path, ToolCall)


@pytest.mark.parametrize("kind", ["fifo", "socket", "link to a fifo", "folder"])
def test_what_is_no_file_is_not_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "place"
    if kind == "folder":
        path.mkdir()
    elif kind == "socket":
        mknod(path, stat.S_IFSOCK | 0o600)
    else:
        mkfifo(tmp_path / "fifo")
        path.symlink_to(tmp_path / "fifo") if kind.startswith("link") else mkfifo(path)
    before = path.lstat().st_mode
    with pytest.raises(EnvironmentFault, match="place cannot be written: it is no file"):
        write_text(path, "text")
    assert path.lstat().st_mode == before
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("content", [b"\xff\xfe", b"not json\n"])
def test_other_bytes_are_an_input_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "finals.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"finals\.jsonl"):
        read_records(path, FinalClaims)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match="cannot be made"):
        write_text(tmp_path / "file" / "out.txt", "text")


def test_a_fault_of_the_work_is_not_the_files(tmp_path: Path) -> None:
    """An error of what makes the records keeps its words, and leaves no half file."""

    def records() -> Iterator[ToolCall]:
        yield ToolCall(tool="t", arguments={})
        raise ConnectionResetError("the engine is gone")

    with pytest.raises(ConnectionResetError, match="engine"):
        write_records(tmp_path / "out.jsonl", records())
    assert list(tmp_path.iterdir()) == []
