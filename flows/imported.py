"""Questions of files of one's own, a file a domain, to be run without DVC."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import JsonValue

from flows.files import write_bytes, write_records
from flows.params import Params
from flows.project import Project, Results
from flows.sections import SimulatorChoice, check_name
from simulrag.errors import InputError
from simulrag.questions.published import check_domain, read_questions, sampled


@dataclass(frozen=True)
class Imported:
    """The files by domain, and of how many of each one's questions (``limit`` None: all).

    ``stages``: what is done of each domain, in this order; the report is of all domains.
    ``as_published``: by the paper's method, see ``MethodSettings.as_published``.
    """

    stages: ClassVar = ("answer", "label", "metrics")
    files: Mapping[str, Path]
    limit: int | None = None
    seed: int = 0
    as_published: bool = False

    def sampled(self, most: int) -> tuple[Imported, dict[str, float]]:
        """Take at most so many questions a domain: them, and how many times as many there are."""
        found = {name: len(read_questions(file)) for name, file in self.files.items()}
        asked = {name: min(count, self.limit or count) for name, count in found.items()}
        times = {name: count / min(count, most) for name, count in asked.items() if count}
        return replace(self, limit=min(most, self.limit or most)), times

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
            if (content := file.read_bytes()).startswith(BOM_UTF8):  # replay reads JSON alone
                write_bytes(file := place.imported(domain), content.removeprefix(BOM_UTF8))
            settings: dict[str, JsonValue] = {"benchmark": str(file.resolve()), "domain": domain}
            choices[domain] = SimulatorChoice(name="replay", settings=settings)
        changed: dict[str, Any] = {"domains": list(self.files), "simulators": choices}
        if self.as_published:
            changed["answer"] = params.answer.as_published()
        params = params.model_copy(update=changed)
        for domain in self.files:
            params.load_simulator(domain, project.root)
        return params


def imported(folder: Path, limit: int | None, seed: int, *, as_published: bool = False) -> Imported:
    """Return the question files of a folder, ``DOMAIN.jsonl``.

    Raises InputError where there is none.
    """
    files = {file.stem: file for file in sorted(folder.glob("*.jsonl"))}
    if not files:
        raise InputError(
            f"{folder} is no folder with question files (DOMAIN.jsonl); `simulrag import-official` "
            "writes them to data/imported"
        )
    for name in files:
        check_name(name, f"rename {folder / name}.jsonl")
    return Imported(files, limit, seed, as_published)
