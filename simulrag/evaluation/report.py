"""The report: one HTML file that opens anywhere and loads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import polars as pl
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict

from simulrag.errors import InputError
from simulrag.evaluation.figures import budget_figure, figure_text
from simulrag.evaluation.findings import findings
from simulrag.evaluation.names import FIGURE_METRICS
from simulrag.evaluation.published import Replayed, published_view, replayed
from simulrag.evaluation.report_checks import benchmark_view, retrieval_view
from simulrag.evaluation.report_people import agreement_view, people_labels, people_view
from simulrag.evaluation.report_tables import (
    TableView,
    answer_view,
    boundary_view,
    claim_view,
    comparison_view,
    cost_view,
    gain_view,
)
from simulrag.evaluation.settings import UNDECIDED
from simulrag.evaluation.tables import Tables
from simulrag.evaluation.traces import (
    BLOCK,
    blocks,
    index_entry,
    labels_by_claim,
    script_json,
    trace,
)
from simulrag.records import Answer, Label, Question


class RunSummary(BaseModel):
    """What was run, for the first screen.

    ``models``: a line a role, such as {"answer": "openai: gpt-5-mini"}. ``offline``: the offline
    backend took a part. ``params_hash``: names the values of domains, models, answer and metrics;
    other parameters do not change it. ``notes``: further sentences.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: dict[str, str]
    offline: bool
    simulators: dict[str, str] = {}
    params_hash: str | None = None
    notes: tuple[str, ...] = ()


def write_report(
    path: Path,
    run: RunSummary,
    tables: Tables,
    *,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    labels: Sequence[Label],
    published: pl.DataFrame | None = None,
    published_benchmark: pl.DataFrame | None = None,
) -> None:
    """Write the report to ``path``, the same bytes for the same arguments.

    ``published``: the paper's Table 1 (``published.read_published``), shown beside ours;
    ``published_benchmark``: its Table 2. Raises InputError where an answer's question is not among
    ``questions``.
    """
    text = report_html(
        run,
        tables,
        questions=questions,
        answers=answers,
        labels=labels,
        published=published,
        published_benchmark=published_benchmark,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def report_html(
    run: RunSummary,
    tables: Tables,
    *,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    labels: Sequence[Label],
    published: pl.DataFrame | None = None,
    published_benchmark: pl.DataFrame | None = None,
) -> str:
    """The report's text."""
    asked = {question.question_id: question for question in questions}
    for answer in answers:
        if answer.question_id not in asked:
            raise InputError(
                f"report: question '{answer.question_id}' has an answer and is not in the "
                "benchmark: answer and benchmark files must belong together"
            )
    pairs = [(asked[answer.question_id], answer) for answer in answers]
    lookup = labels_by_claim([*labels, *people_labels(tables)])
    centrality = tables.settings.centrality
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("simulrag.evaluation", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.j2").render(
        run=run,
        warnings=_warnings(run, answers),
        coverage=list(tables.coverage.iter_rows(named=True)),
        findings=findings(tables),
        settings=tables.settings,
        domains=[
            _domain(
                tables,
                domain,
                published,
                published_benchmark,
                replayed(p for p in pairs if p[1].domain == domain),
            )
            for domain in tables.domains
        ],
        css=Markup(_asset("report.css")),  # noqa: S704 - our own file
        script=Markup(_asset("report.js")),  # noqa: S704 - our own file
        index=Markup(script_json([index_entry(q, a) for q, a in pairs])),  # noqa: S704 - escaped
        block_size=BLOCK,
        blocks=list(blocks(trace(q, a, lookup, centrality) for q, a in pairs)),
    )


def _warnings(run: RunSummary, answers: Sequence[Answer]) -> list[tuple[str, str]]:
    """What a reader must know before any number."""
    found = []
    if run.offline:
        found.append(
            (
                "Offline backend",
                "This run's texts come from a rule-based stand-in. It shows that the pipeline "
                "works and says nothing about language models.",
            )
        )
    oracle = sum(
        answer.retrieval is not None and answer.retrieval.status == "oracle" for answer in answers
    )
    if oracle:
        found.append(
            (
                "Oracle retrieval",
                f"For {oracle} of {len(answers)} questions the evidence was looked up in published "
                "files. No tool was called, so this is not SimulRAG end to end.",
            )
        )
    return found


def _domain(
    tables: Tables,
    domain: str,
    published: pl.DataFrame | None,
    published_benchmark: pl.DataFrame | None,
    like: Replayed,
) -> Mapping[str, Any]:
    settings = tables.settings
    other = next(name for name in UNDECIDED if name != settings.undecided)
    further: list[TableView | None] = [
        claim_view(tables, domain, settings.centrality, other),
        *(
            claim_view(tables, domain, centrality, settings.undecided)
            for centrality in settings.centralities[1:]
        ),
    ]
    beside = None if published is None else published_view(tables, domain, published, like)
    return {
        "name": domain,
        "figures": [
            {
                "title": title,
                "text": figure_text(tables, domain, metric),
                # Drawn by matplotlib from our tables; the domain's name is not written into it.
                "svg": Markup(budget_figure(tables, domain, metric)),  # noqa: S704
            }
            for metric, title in FIGURE_METRICS.items()
        ],
        "claims": claim_view(tables, domain, settings.centrality, settings.undecided),
        "answers": answer_view(tables, domain),
        "details": [
            ("Published numbers beside ours", [beside]),
            ("Paired differences", [comparison_view(tables, domain), gain_view(tables, domain)]),
            ("Other treatments of the same claims", further),
            ("Final answers, failures as zero", [answer_view(tables, domain, "zero")]),
            ("Simulator boundary", [boundary_view(tables, domain)]),
            ("Retrieval", [retrieval_view(tables, domain)]),
            ("Benchmark", [benchmark_view(tables, domain, published_benchmark)]),
            ("Human labels", [agreement_view(tables, domain), people_view(tables, domain)]),
            ("Cost", [cost_view(tables, domain)]),
        ],
    }


def _asset(name: str) -> str:
    return resources.files("simulrag.evaluation").joinpath(name).read_text(encoding="utf-8")
