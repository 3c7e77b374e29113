"""Questions of files of one's own, a file a domain, answered from the evidence they came with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from flows.files import write_records
from flows.params import Params
from flows.project import Project, Results
from flows.sections import SimulatorChoice
from simulrag.errors import InputError
from simulrag.questions.published import check_domain, read_questions, sampled
from simulrag.records import Question

STAGES = ("answer", "label", "metrics")
"""What is done of each domain, in this order; the report is of all domains."""


@dataclass(frozen=True)
class Imported:
    """The files by domain, and of how many of each one's questions (``limit`` None: all)."""

    files: Mapping[str, Path]
    limit: int | None = None
    seed: int = 0

    def placed(self, project: Project, params: Params, place: Results) -> Params:
        """Write the questions into ``place``; the parameters of a run over them alone.

        Raises InputError for a file that holds no questions of its domain, and ArgumentError for
        questions without evidence, or of a domain that no handbook describes.
        """
        choices = dict(params.simulators)
        for domain, file in self.files.items():
            write_records(place.benchmark(domain), taken(file, domain, self.limit, self.seed))
            # The whole file: a sample's simulator would be another one.
            settings: dict[str, JsonValue] = {"benchmark": str(file.resolve()), "domain": domain}
            choices[domain] = SimulatorChoice(name="replay", settings=settings)
        params = params.model_copy(update={"domains": list(self.files), "simulators": choices})
        for domain in self.files:
            params.load_simulator(domain, project.root)
        return params


def imported(folder: Path, limit: int | None, seed: int) -> Imported:
    """The question files of a folder, ``DOMAIN.jsonl``. Raises InputError where there is none."""
    files = {file.stem: file for file in sorted(folder.glob("*.jsonl"))}
    if not files:
        raise InputError(
            f"{folder} is no folder with question files (DOMAIN.jsonl); `simulrag import-official` "
            "writes them to data/imported"
        )
    return Imported(files, limit, seed)


def taken(file: Path, domain: str, limit: int | None, seed: int) -> list[Question]:
    """The questions of a file, or some of them. Raises InputError for those of another domain."""
    questions = read_questions(file)
    check_domain(file, questions, domain)
    return sampled(questions, limit, seed)
