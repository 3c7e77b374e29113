"""Published evidence, looked up by the question: for running the method on a given benchmark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from simulators.base import ArgumentError, Tool, ToolModel, files_fingerprint

PUBLISHED_EVIDENCE = "simulator_evidence.json"
HANDBOOKS = Path(__file__).parent / "handbooks"
TOOL = "published_evidence"
URBAN = "urban"


def question_key(question: str) -> str:
    """Fold runs of white space: so a question is looked up."""
    return " ".join(question.split())


def evidence_file(benchmark: Path) -> Path:
    """Find the file that holds the evidence: the JSONL itself, or that of a folder."""
    path = benchmark / PUBLISHED_EVIDENCE if benchmark.is_dir() else benchmark
    if not path.is_file():
        raise ArgumentError(
            f"replay finds no evidence at {path}; give a benchmark file (JSONL, as "
            f"'simulrag import-official' writes it) or a folder with {PUBLISHED_EVIDENCE}"
        )
    return path


def read_evidence(path: Path) -> dict[str, str]:
    """Read evidence by question key. Repeated questions get each distinct text once, in order."""
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


class PublishedEvidenceArguments(ToolModel):
    """What the lookup needs."""

    question: str = Field(min_length=1, description="a question of the benchmark, word for word")


class PublishedEvidenceOutputs(ToolModel):
    """What the benchmark holds for the question."""

    text: str = Field(description="the simulator's results as the benchmark gives them")


class ReplaySimulator:
    """Evidence of a given benchmark, by question.

    ``benchmark`` is a benchmark file (JSONL) or a folder in the published format, ``domain`` names
    the handbook that describes the simulator behind the evidence. Results got this way are oracle
    retrieval: no tool call is extracted from the question.
    """

    name = "replay"
    oracle = True

    def __init__(self, benchmark: str | Path, domain: str) -> None:
        self.domain = domain
        self._file = evidence_file(Path(benchmark))
        self._evidence = read_evidence(self._file)
        if domain not in domains():
            known = ", ".join(domains())
            raise ArgumentError(f"replay has no handbook for '{domain}'; it has: {known}")
        self.tools: Mapping[str, Tool] = {
            TOOL: Tool(
                name=TOOL,
                description="The evidence that the benchmark holds for one of its questions.",
                arguments=PublishedEvidenceArguments,
                outputs=PublishedEvidenceOutputs,
                template="{{ outputs.text }}",
            )
        }

    def handbook(self) -> str:
        """Return the handbook of the simulator that made the evidence (not of the lookup)."""
        if self.domain == URBAN:
            # Late: only this domain needs that package, and only where a model reads the handbook.
            from simulators.urban import UrbanSimulator

            return UrbanSimulator().handbook()
        return (HANDBOOKS / f"{self.domain}.md").read_text(encoding="utf-8")

    def run(self, tool: str, arguments: ToolModel, seed: int) -> PublishedEvidenceOutputs:  # noqa: ARG002 nothing is random
        """Look a question up. Raises ArgumentError for one that the benchmark has not."""
        if tool != TOOL or not isinstance(arguments, PublishedEvidenceArguments):
            raise ArgumentError(f"replay has one tool, '{TOOL}', not '{tool}'")
        text = self._evidence.get(question_key(arguments.question))
        if text is None:
            start = arguments.question[:80]
            raise ArgumentError(
                f"{self._file.name} holds no evidence for the question '{start}'; "
                "replay answers only the questions of its benchmark, word for word"
            )
        return PublishedEvidenceOutputs(text=text)

    def fingerprint(self) -> str:
        """Hash the evidence file and this code, which reads it."""
        return files_fingerprint([self._file, Path(__file__)])


def domains() -> list[str]:
    """List the domains that have a handbook, sorted."""
    return sorted([URBAN, *(path.stem for path in HANDBOOKS.glob("*.md"))])
