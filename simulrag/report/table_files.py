"""The report's tables as text for a paper: Markdown and LaTeX (booktabs)."""

from __future__ import annotations

from simulrag.report.tables import TableView

_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "—": "--",
}


def markdown(view: TableView) -> str:
    """A pipe table below its caption; ``strong`` rows are bold, notes follow as a list."""
    rule = ["---" if i < view.headers else "---:" for i in range(len(view.columns))]
    lines = [_pipes(view.columns), _pipes(rule)]
    for index, row in enumerate(view.rows):
        cells = [cell.replace("|", "\\|") for cell in row]
        lines.append(_pipes([f"**{c}**" for c in cells] if index in view.strong else cells))
    notes = ["", *(f"- {note}" for note in view.notes)] if view.notes else []
    return "\n".join([f"**{view.caption}**", "", *lines, *notes]) + "\n"


def latex(view: TableView) -> str:
    """A ``table`` with booktabs rules; a cell that repeats the one above it stays empty."""
    layout = "l" * view.headers + "r" * (len(view.columns) - view.headers)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(view.caption)}}}",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\toprule",
        _ampersands([_escaped(name) for name in view.columns]),
        r"\midrule",
    ]
    above = ""
    for index, row in enumerate(view.rows):
        cells = [_escaped(cell) for cell in row]
        if view.headers > 1 and cells[0] == above:
            cells[0] = ""
        elif index and view.headers > 1:
            lines.append(r"\addlinespace")
        above = cells[0] or above
        if index in view.strong:
            cells = [rf"\textbf{{{cell}}}" if cell else "" for cell in cells]
        lines.append(_ampersands(cells))
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip\footnotesize {_escaped(note)}" for note in view.notes]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _pipes(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _ampersands(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)
