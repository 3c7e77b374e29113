"""The table at the end of ``make run``, from the metrics that are there."""

from __future__ import annotations

from rich.console import Console

from flows.params import load_stage_params
from flows.project import find_project
from flows.stages.bench import exits
from simulrag.report.run import Run, read_domains
from simulrag.report.terminal import terminal_table


def main() -> None:
    """``python -m flows.cli.table``."""
    project = find_project()
    params = load_stage_params(project, "metrics")
    console = Console()
    domains = read_domains(project.results.metrics, params.domains)
    console.print(terminal_table(Run(params.metrics, domains)))
    report = project.results.report.relative_to(project.root)
    console.print(f"Report: {report}", highlight=False)


if __name__ == "__main__":
    raise SystemExit(exits(main))
