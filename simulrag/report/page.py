"""The report: one HTML file that opens anywhere and loads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict

from simulrag.errors import InputError
from simulrag.metrics.published import replayed
from simulrag.metrics.tables import Tables
from simulrag.records import Answer, Label, Question
from simulrag.report.domain import Picture, Published, domain_figures, domain_tables
from simulrag.report.findings import findings
from simulrag.report.people import people_labels
from simulrag.report.rendering import figure_files, inline_svg
from simulrag.report.table_files import latex, markdown
from simulrag.report.tables import TableView
from simulrag.report.traces import (
    BLOCK,
    blocks,
    index_entry,
    labels_by_claim,
    script_json,
    trace,
)

_SCRIPTS = ("report-figures.js", "report-graph.js", "report.js")


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
    published: Published | None = None,
) -> None:
    """Write the report to ``path``, the same bytes for the same arguments.

    Beside it come ``figures/`` (SVG and PNG) and ``tables/`` (Markdown and LaTeX) with what it
    shows. ``published``: the paper's tables by number (``published.read_published``), shown beside
    ours. Raises InputError where an answer's question is not among ``questions``.
    """
    text, domains = _report(run, tables, questions, answers, labels, published=published or {})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    for domain in domains:
        _write_figures(path.parent / "figures", domain.pictures)
        _write_tables(path.parent / "tables", domain)


def report_html(
    run: RunSummary,
    tables: Tables,
    *,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    labels: Sequence[Label],
    published: Published | None = None,
) -> str:
    """The report's text."""
    return _report(run, tables, questions, answers, labels, published=published or {})[0]


@dataclass(frozen=True)
class _Domain:
    name: str
    pictures: tuple[Picture, ...]
    views: Mapping[str, Mapping[str, TableView]]


def _report(
    run: RunSummary,
    tables: Tables,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    labels: Sequence[Label],
    *,
    published: Published,
) -> tuple[str, list[_Domain]]:
    """The report's text, and what each domain shows in it."""
    asked = {question.question_id: question for question in questions}
    for answer in answers:
        if answer.question_id not in asked:
            raise InputError(
                f"report: question '{answer.question_id}' has an answer and is not in the "
                "benchmark: answer and benchmark files must belong together"
            )
    pairs = [(asked[answer.question_id], answer) for answer in answers]
    domains = []
    for name in tables.domains:
        like = replayed(pair for pair in pairs if pair[1].domain == name)
        views = domain_tables(tables, name, published, like)
        domains.append(_Domain(name, tuple(domain_figures(tables, name)), views))
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
    text = environment.get_template("report.html.j2").render(
        run=run,
        warnings=_warnings(run, answers),
        coverage=list(tables.coverage.iter_rows(named=True)),
        findings=findings(tables),
        settings=tables.settings,
        domains=[_shown(domain) for domain in domains],
        css=Markup(_asset("report.css")),  # noqa: S704 - our own file
        scripts=[Markup(_asset(name)) for name in _SCRIPTS],  # noqa: S704 - our own files
        index=Markup(script_json([index_entry(q, a) for q, a in pairs])),  # noqa: S704 - escaped
        block_size=BLOCK,
        blocks=list(blocks(trace(q, a, lookup, centrality) for q, a in pairs)),
    )
    return text, domains


def _write_figures(folder: Path, pictures: Sequence[Picture]) -> None:
    folder.mkdir(exist_ok=True)
    for picture in pictures:
        for suffix, content in figure_files(picture.chart, picture.name).items():
            (folder / f"{picture.name}.{suffix}").write_bytes(content)


def _write_tables(folder: Path, domain: _Domain) -> None:
    folder.mkdir(exist_ok=True)
    for of_section in domain.views.values():
        for name, view in of_section.items():
            for suffix, text in (("md", markdown(view)), ("tex", latex(view))):
                path = folder / f"{domain.name}-{name}.{suffix}"
                path.write_text(text, encoding="utf-8", newline="\n")


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


def _shown(domain: _Domain) -> Mapping[str, Any]:
    leading = domain.views[""]
    return {
        "name": domain.name,
        "figures": [
            [
                {
                    "picture": picture,
                    # Drawn by matplotlib from our tables; what points say is escaped.
                    "svg": Markup(inline_svg(picture.chart, picture.name)),  # noqa: S704
                    "legend": [(key.name, Markup(key.swatch)) for key in picture.chart.legend],  # noqa: S704
                }
                for picture in alternatives
            ]
            for _, alternatives in groupby(domain.pictures, key=lambda picture: picture.kind)
        ],
        "claims": leading["claims"],
        "answers": leading["answers"],
        "details": [
            (title, list(of_title.values())) for title, of_title in domain.views.items() if title
        ],
    }


def _asset(name: str) -> str:
    return resources.files("simulrag.evaluation").joinpath(name).read_text(encoding="utf-8")
