"""``simulrag run`` and ``simulrag retry``: thin words around ``dvc repro``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from flows.cli import table
from flows.files import read_records, read_table
from flows.params import load_params
from flows.plan.plan import refuse_without_budget
from flows.project import Project, find_project
from flows.stages.simulators import lineage_domains
from flows.stages.bench import cache_place
from flows.stages.waiting import gathered_outcomes, pending_words
from simulrag.errors import CallsPending, EnvironmentFault
from simulrag.records import Answer, FinalClaims, Label


def run_pipeline(targets: list[str]) -> int:
    """``dvc repro --keep-going``; pulls the exported calls first where a remote is set."""
    project = find_project()
    params = load_params(project.params)  # a mistake in it is the user's to see first
    if lineage_domains(project) != params.domains:
        from flows.cli.lineage import write_deps  # reads all code, so only where there is a reason

        write_deps(project)
        sys.stderr.write("dvc.yaml now names the files of the domains in params.yaml\n")
    if not targets:
        refuse_without_budget(project)
    if _dvc(project, ["remote", "list"], quiet=True).stdout.strip():
        exports = [
            str(project.results.calls(f"{stage}-{domain}").relative_to(project.root))
            for domain in params.domains
            for stage in ("benchmark", "answer", "label")
        ]
        if _dvc(project, ["pull", "--allow-missing", *exports]).returncode != 0:
            sys.stderr.write("warning: the remote's calls could not be pulled; going on without\n")
    with gathered_outcomes() as outcomes:
        code = min(1, _dvc(project, ["repro", "--keep-going", *targets]).returncode)
        if code and outcomes.only_pending():
            sys.stderr.write(f"{pending_words(cache_place(project, params.operations))}\n")
            return CallsPending.exit_code
    if code == 0 and not targets:
        table.main()
    return code


def retry_failures() -> int:
    """Force the stages whose outs hold failures, then run the pipeline."""
    project = find_project()
    stages = failed_stages(project)
    if stages:
        sys.stderr.write(f"again: {', '.join(stages)}\n")
        _dvc(project, ["repro", "--force", "--single-item", "--keep-going", *stages])
    else:
        sys.stderr.write("no stage holds a failure\n")
    return run_pipeline([])


def failed_stages(project: Project) -> list[str]:
    """The names, as DVC has them, of stages with at least one failed question, verdict or label."""
    stages: list[str] = []
    for domain in load_params(project.params).domains:
        answers = project.results.answers(domain)
        if answers.is_file() and any(map(holds_failure, read_records(answers, Answer))):
            stages.append(f"answer@{domain}")
        labels = project.results.labels(domain)
        finals = project.results.final_claims(domain)
        failed = labels.is_file() and any(x.failure for x in read_table(labels, Label))
        if failed or (
            finals.is_file() and any(x.failure for x in read_records(finals, FinalClaims))
        ):
            stages.append(f"label@{domain}")
    return stages


def holds_failure(answer: Answer) -> bool:
    """A failed question, a claim whose verification failed, or a failed answer to compare with."""
    return (
        answer.failure is not None
        or any(c.verdict is not None and c.verdict.status == "error" for c in answer.claims)
        or any(text.failure is not None for text in answer.baselines)
    )


def _dvc(
    project: Project, arguments: list[str], quiet: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run DVC with this interpreter's folder first on PATH, so that stages use the same one."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {**os.environ, "PATH": path, "DVC_NO_ANALYTICS": "1"}
    command = [sys.executable, "-m", "dvc", *arguments]
    try:
        return subprocess.run(
            command,
            cwd=project.root,
            env=environment,
            check=False,
            text=True,
            stdout=subprocess.PIPE if quiet else None,
        )
    except OSError as error:
        raise EnvironmentFault(f"DVC cannot be started: {error}") from None
