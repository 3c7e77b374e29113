"""The replay simulator: one tool that answers a question with its published evidence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from simulators.base import ArgumentError, Tool, ToolModel, files_fingerprint
from simulators.replay.evidence import evidence_file, question_key, read_evidence

HERE = Path(__file__).parent
HANDBOOKS = HERE / "handbooks"
TOOL = "published_evidence"
URBAN = "urban"


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
        self._tools = {
            TOOL: Tool(
                name=TOOL,
                description="The evidence that the benchmark holds for one of its questions.",
                arguments=PublishedEvidenceArguments,
                outputs=PublishedEvidenceOutputs,
                template="{{ outputs.text }}",
            )
        }

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The one tool."""
        return self._tools

    def handbook(self) -> str:
        """The handbook of the simulator that made the evidence (not of the lookup)."""
        if self.domain == URBAN:
            # Late: only this domain needs that package, and only where a model reads the handbook.
            from simulators.urban import UrbanSimulator

            return UrbanSimulator().handbook()
        return (HANDBOOKS / f"{self.domain}.md").read_text(encoding="utf-8")

    def run(self, tool: str, arguments: ToolModel, seed: int) -> PublishedEvidenceOutputs:  # noqa: ARG002 nothing is random
        """The evidence of a question. Raises ArgumentError for one that the benchmark has not."""
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
        """Hash of the evidence file and of the code that reads it."""
        return files_fingerprint([self._file, HERE / "evidence.py", HERE / "simulator.py"])


def domains() -> list[str]:
    """The domains that have a handbook, sorted."""
    return sorted([URBAN, *(path.stem for path in HANDBOOKS.glob("*.md"))])
