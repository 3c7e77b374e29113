"""Reading evidence texts by question, from an imported benchmark or a published folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simulators.base import ArgumentError

PUBLISHED_EVIDENCE = "simulator_evidence.json"


def question_key(question: str) -> str:
    """The question as it is looked up: runs of white space folded."""
    return " ".join(question.split())


def evidence_file(benchmark: Path) -> Path:
    """The file that holds the evidence: the JSONL itself, or the evidence file of a folder."""
    path = benchmark / PUBLISHED_EVIDENCE if benchmark.is_dir() else benchmark
    if not path.is_file():
        raise ArgumentError(
            f"replay finds no evidence at {path}; give a benchmark file (JSONL, as "
            f"'simulrag import-official' writes it) or a folder with {PUBLISHED_EVIDENCE}"
        )
    return path


def read_evidence(path: Path) -> dict[str, str]:
    """Evidence text by question key. Repeated questions get each distinct text once, in order."""
    texts: dict[str, list[str]] = {}
    entries = _published(path) if path.name == PUBLISHED_EVIDENCE else _imported(path)
    for question, text in entries:
        known = texts.setdefault(question_key(question), [])
        if text not in known:
            known.append(text)
    if not texts:
        raise ArgumentError(f"{path} holds no question; import the benchmark again")
    return {question: "\n\n".join(known) for question, known in texts.items()}


def _published(path: Path) -> Iterator[tuple[str, str]]:
    entries = _parse(path.read_text(encoding="utf-8"), str(path))
    if not isinstance(entries, list):
        raise ArgumentError(f"{path}: a list of entries is expected, not {_kind(entries)}")
    for index, entry in enumerate(entries):
        where = f"{path}, entry {index}"
        yield (
            _field(entry, "question", where),
            _field(entry, "derived_quantitative_answer", where),
        )


def _imported(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        record = _parse(line, where)
        question = _field(record, "text", where)
        evidence = record.get("evidence")
        if not isinstance(evidence, list) or not evidence:
            raise ArgumentError(
                f"{where}: the question has no 'evidence' to replay; import it again"
            )
        yield question, "\n\n".join(_field(item, "text", f"{where}, evidence") for item in evidence)


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ArgumentError(f"{where}: this is not JSON ({error}); import the file again") from None


def _field(entry: Any, name: str, where: str) -> str:
    if not isinstance(entry, dict):
        raise ArgumentError(f"{where}: an object is expected, not {_kind(entry)}")
    value = entry.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ArgumentError(f"{where}: '{name}' is missing or no text; import the file again")
    return value


def _kind(value: object) -> str:
    return {"dict": "an object", "list": "a list", "str": "text", "NoneType": "null"}.get(
        type(value).__name__, "a number"
    )
