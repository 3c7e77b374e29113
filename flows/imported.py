"""Questions of files of one's own, a file a domain: ``simulrag run --benchmark``.

They are answered from the evidence they came with, where they carry none by their domain's
simulator.
"""

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

        Raises InputError for a file that holds no questions of its domain, or questions that
        neither carry evidence nor are of a domain of ``params``; ArgumentError where some carry
        none, or where no handbook describes the domain.
        """
        choices = dict(params.simulators)
        for domain, file in self.files.items():
            questions = read_questions(file)
            check_domain(file, questions, domain)
            write_records(place.benchmark(domain), sampled(questions, self.limit, self.seed))
            if not any(question.evidence for question in questions):
                params.simulator(domain)
                continue
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
