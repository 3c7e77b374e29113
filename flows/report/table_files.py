"""The report's tables as files: Markdown, LaTeX (booktabs) and CSV."""

from __future__ import annotations

import csv
import io

from flows.report.blocks import Table

_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "—": "--",
}


def files_of(table: Table) -> dict[str, str]:
    """A table's texts by suffix."""
    return {"md": markdown(table), "tex": latex(table), "csv": comma_separated(table)}


def comma_separated(table: Table) -> str:
    """The cells as they are shown."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.columns, *table.rows])
    return text.getvalue()


def markdown(table: Table) -> str:
    """A pipe table below its caption; ``best`` cells are bold, notes follow as a list."""
    rule = ["---" if i < table.headers else "---:" for i in range(len(table.columns))]
    lines = [_pipes(table.columns), _pipes(rule)]
    for index, row in enumerate(table.rows):
        cells = [" ".join(cell.split()).replace("|", "\\|") for cell in row]
        bold = [f"**{c}**" if (index, at) in table.best else c for at, c in enumerate(cells)]
        lines.append(_pipes(bold))
    notes = ["", *(f"- {note}" for note in table.notes)] if table.notes else []
    return "\n".join([f"**{table.caption}**", "", *lines, *notes]) + "\n"


def latex(table: Table) -> str:
    """A ``table`` with booktabs rules; a cell that repeats the one above it stays empty."""
    layout = "l" * table.headers + "r" * (len(table.columns) - table.headers)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(table.caption)}}}",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\toprule",
        _ampersands([_escaped(name) for name in table.columns]),
        r"\midrule",
    ]
    above = ""
    for index, row in enumerate(table.rows):
        cells = [_escaped(cell) for cell in row]
        if table.headers > 1 and cells[0] == above:
            cells[0] = ""
        elif index and table.headers > 1:
            lines.append(r"\addlinespace")
        above = cells[0] or above
        bold = [
            rf"\textbf{{{c}}}" if (index, at) in table.best else c for at, c in enumerate(cells)
        ]
        lines.append(_ampersands(bold))
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip\footnotesize {_escaped(note)}" for note in table.notes]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _pipes(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _ampersands(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)
