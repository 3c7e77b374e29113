"""Tables as Markdown, LaTeX and CSV."""

from __future__ import annotations

from flows.report.blocks import Table
from flows.report.page import files_of, latex, markdown

TABLE = Table(
    name="made",
    caption="A & B_1: 50 %",
    columns=("Budget", "Method", "F1"),
    rows=(("15 %", "Random", "0.500"), ("15 %", "UE|SBA", "—")),
    strong=(1,),
    best=((0, 2),),
    notes=("Dashes: undefined.",),
)


def test_markdown() -> None:
    assert markdown(TABLE).splitlines() == [
        "**A & B_1: 50 %**",
        "",
        "| Budget | Method | F1 |",
        "| --- | --- | ---: |",
        "| 15 % | Random | **0.500** |",
        r"| 15 % | UE\|SBA | — |",
        "",
        "- Dashes: undefined.",
    ]


def test_latex_escapes_and_leaves_out_what_repeats() -> None:
    text = latex(TABLE)
    assert r"\caption{A \& B\_1: 50 \%}" in text
    assert r"\begin{tabular}{llr}" in text
    assert r"15 \% & Random & \textbf{0.500} \\" in text
    assert r" & UE|SBA & -- \\" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2


def test_csv_has_the_cells() -> None:
    assert files_of(TABLE)["csv"].splitlines()[2] == "15 %,UE|SBA,—"
