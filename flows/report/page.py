"""The report: HTML files that open anywhere and load nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from flows.files import write_text
from flows.report.blocks import Block, Facts, Figure, Table
from flows.report.chart import standalone
from flows.report.run import ReportedRun
from flows.report.sections import BELOW, FIRST, sections
from flows.report.traces import BLOCK, Traced, blocks, index_entry, script_json, trace
from flows.report.words import spelled
from simulrag.shown import as_html, is_marked

_COLOURS = {
    "green": "var(--true)",
    "yellow": "var(--open)",
    "red": "var(--false)",
    "dim": "var(--soft)",
}
METHODS_PAGE = "methods.html"
_SCRIPTS = ("figures.js", "graph.js", "questions.js")


def write_report(path: Path, run: ReportedRun, traced: Iterable[Traced]) -> None:
    """Write the report to ``path``, the same bytes for the same arguments.

    ``traced`` is gone through once, and no question is held longer than its trace takes, but the
    one that is shown whole. Beside the page come ``methods.html`` for those who study methods,
    ``figures/`` (SVG) and ``tables/`` (Markdown, LaTeX, CSV) with what both show.
    """
    shown = [(section, list(section.blocks(run))) for section in sections()]
    grouped = [(section, list(_grouped(parts))) for section, parts in shown if parts]
    index: list[dict[str, Any]] = []
    example = _Example()
    packed = list(blocks(_noted(traced, run.settings.centrality, index, example)))
    counts = [sum(one.count(name) for one in run.domains) for name in ("completed", "questions")]
    both = {
        "run": run,
        "counts": counts,
        "css": Markup(_asset("report.css")),  # noqa: S704 - our own file
        "pages": (path.name, METHODS_PAGE),
    }
    scripts = [Markup(_asset(name)) for name in _SCRIPTS]  # noqa: S704 - our own files
    template = _template()
    first = template.render(
        **both,
        asked={domain.name for domain in run.domains},
        above=[(section, groups) for section, groups in grouped if section in FIRST],
        below=[(section, groups) for section, groups in grouped if section in BELOW],
        example=example.traced,
        scripts=scripts,
        blocks=packed,
        block_size=BLOCK,
        index=Markup(script_json(index)),  # noqa: S704 - escaped
        standings=dict.fromkeys(standing for entry in index for standing in entry["standings"]),
    )
    write_text(path, first)
    rest = [(section, groups) for section, groups in grouped if section not in FIRST + BELOW]
    second = template.render(**both, asked=set(), above=rest, below=[], scripts=scripts[:1])
    write_text(path.with_name(METHODS_PAGE), second)
    for _, parts in shown:
        _write_files(path.parent, parts)


class _Example:
    """The shortest answer to the shortest question that shows a correction and three marks."""

    def __init__(self) -> None:
        self.traced: Traced | None = None
        self._rank = (False, 0, 0)

    def offer(self, traced: Traced) -> None:
        """Take the answer where it shows more than the one so far."""
        final = traced.answer.final
        marks = {item.standing for item in final.statements}
        length = len(traced.question.text) + len(final.text)
        rank = ("corrected" in marks, min(3, len(marks)), -length)
        if is_marked(traced.answer) and rank > self._rank:
            self.traced, self._rank = traced, rank


def _noted(
    traced: Iterable[Traced], centrality: str, index: list[dict[str, Any]], example: _Example
) -> Iterator[dict[str, Any]]:
    """Trace each question; ``index`` grows by its entry."""
    for question in traced:
        index.append(index_entry(question))
        example.offer(question)
        yield trace(question, centrality)


def _write_files(folder: Path, parts: Sequence[Block]) -> None:
    for block in parts:
        if isinstance(block, Figure):
            write_text(folder / "figures" / f"{block.name}.svg", standalone(block.svg))
        elif isinstance(block, Table):
            name = f"{block.domain}-{block.name}" if block.domain else block.name
            for suffix, text in files_of(block).items():
                write_text(folder / "tables" / f"{name}.{suffix}", text)


def _grouped(parts: Sequence[Block]) -> Iterator[dict[str, Any]]:
    """Group neighbours that are shown together: figures in a grid, folded tables by their title."""
    for (kind, title, _), run in groupby(parts, _together):
        group = list(run)
        if kind == "figures":
            alternatives = groupby(group, lambda one: (one.kind, one.domain))  # type: ignore[union-attr]
            yield {"kind": kind, "sets": [list(figures) for _, figures in alternatives]}
        else:
            yield {"kind": kind, "title": title, "blocks": group}


def _together(block: Block) -> tuple[str, str, str]:
    if isinstance(block, Figure):
        return "figures", "", block.kind
    if isinstance(block, Table):
        return ("folded", block.fold, "") if block.fold else ("tables", "", "")
    if isinstance(block, Facts):
        return "facts", block.title, ""
    return block.role, block.domain or block.title, ""


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("flows.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # A chart is drawn by chart.py, which escapes what its points say.
    environment.filters["drawn"] = lambda figure: Markup(figure.svg)  # noqa: S704
    environment.filters["marked"] = lambda traced: Markup(  # noqa: S704 - escaped
        as_html(traced.answer, "A run's number leads to the run.", colours=_COLOURS)
    )
    environment.filters["spelled"] = lambda text: Markup(spelled(text))  # noqa: S704 - escaped
    return environment.get_template("report.html.j2")


def _asset(name: str) -> str:
    return resources.files("flows.report").joinpath(name).read_text(encoding="utf-8")


_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "—": "--",
}


def files_of(table: Table) -> dict[str, str]:
    """Return a table's texts by suffix."""
    return {"md": markdown(table), "tex": latex(table), "csv": comma_separated(table)}


def comma_separated(table: Table) -> str:
    """Write the cells as they are shown."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.columns, *table.rows])
    return text.getvalue()


def markdown(table: Table) -> str:
    """Write a pipe table below its caption; ``best`` cells are bold, notes follow as a list."""
    rule = ["---" if i < table.headers else "---:" for i in range(len(table.columns))]
    lines = [_pipes(table.columns), _pipes(rule)]
    for index, row in enumerate(table.rows):
        cells = [" ".join(cell.split()).replace("|", "\\|") for cell in row]
        bold = [f"**{c}**" if (index, at) in table.best else c for at, c in enumerate(cells)]
        lines.append(_pipes(bold))
    notes = ["", *(f"- {note}" for note in table.notes)] if table.notes else []
    return "\n".join([f"**{table.caption}**", "", *lines, *notes]) + "\n"


PAGE_ROWS = 40
"""So many rows fit a page of LaTeX; a longer table is a ``longtable``."""


def latex(table: Table) -> str:
    """Write a table with booktabs rules; a cell that repeats the one above it stays empty."""
    layout = "l" * table.headers + "r" * (len(table.columns) - table.headers)
    caption = rf"\caption{{{_escaped(table.caption)}}}"
    head = [r"\toprule", _ampersands([_escaped(name) for name in table.columns]), r"\midrule"]
    notes = [rf"\par\smallskip\footnotesize {_escaped(note)}" for note in table.notes]
    rows = [*_latex_rows(table), r"\bottomrule"]
    if len(table.rows) > PAGE_ROWS:
        begun = [rf"\begin{{longtable}}{{{layout}}}", rf"{caption} \\", *head, r"\endfirsthead"]
        lines = [*begun, *head, r"\endhead", *rows, r"\end{longtable}", "{", *notes, r"\par}"]
    else:
        begun = [r"\begin{table}", r"\centering", caption, rf"\begin{{tabular}}{{{layout}}}"]
        lines = [*begun, *head, *rows, r"\end{tabular}", *notes, r"\end{table}"]
    return "\n".join(lines) + "\n"


def _latex_rows(table: Table) -> Iterator[str]:
    above = ""
    for index, row in enumerate(table.rows):
        cells = [_escaped(cell) for cell in row]
        if table.headers > 1 and cells[0] == above:
            cells[0] = ""
        elif index and table.headers > 1:
            yield r"\addlinespace"
        above = cells[0] or above
        bold = [
            rf"\textbf{{{c}}}" if (index, at) in table.best else c for at, c in enumerate(cells)
        ]
        yield _ampersands(bold)


def _pipes(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _ampersands(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)
