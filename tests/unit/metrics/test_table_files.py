"""Tables as Markdown and LaTeX, and every figure as a file."""

from __future__ import annotations

from pathlib import Path

from simulrag.metrics.tables import evaluate

from simulrag.metrics.settings import MetricSettings
from simulrag.report.page import RunSummary, write_report
from simulrag.report.table_files import latex, markdown
from simulrag.report.tables import TableView
from tests.unit.metrics.synthetic import study

VIEW = TableView(
    caption="A & B_1: 50 %",
    columns=("Budget", "Method", "F1"),
    rows=(("15 %", "Random", "0.500"), ("15 %", "UE|SBA", "—")),
    strong=(1,),
    notes=("Dashes: undefined.",),
)


def test_markdown() -> None:
    assert markdown(VIEW).splitlines() == [
        "**A & B_1: 50 %**",
        "",
        "| Budget | Method | F1 |",
        "| --- | --- | ---: |",
        "| 15 % | Random | 0.500 |",
        r"| **15 %** | **UE\|SBA** | **—** |",
        "",
        "- Dashes: undefined.",
    ]


def test_latex_escapes_and_leaves_out_what_repeats() -> None:
    text = latex(VIEW)
    assert r"\caption{A \& B\_1: 50 \%}" in text
    assert r"\begin{tabular}{llr}" in text
    assert r"15 \% & Random & 0.500 \\" in text
    assert r" & \textbf{UE|SBA} & \textbf{--} \\" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2


def test_files_beside_the_report_are_the_same_bytes(tmp_path: Path) -> None:
    data = study(6)
    settings = MetricSettings(bootstrap=100, random_seeds=2, further_centralities=("degree",))
    tables = evaluate(data.answers, data.labels, data.finals, data.scenario_of, settings)
    run = RunSummary(models={"answer": "rules"}, offline=True)
    for name in ("a", "b"):
        write_report(
            tmp_path / name / "index.html",
            run,
            tables,
            questions=data.questions,
            answers=data.answers,
            labels=data.labels,
        )
    first = {p.relative_to(tmp_path / "a"): p.read_bytes() for p in (tmp_path / "a").rglob("*.*")}
    second = {p.relative_to(tmp_path / "b"): p.read_bytes() for p in (tmp_path / "b").rglob("*.*")}
    assert first == second
    names = {str(path) for path in first}
    for figure in ("f1-budget", "auroc-budget", "auroc-cost", "auroc-centrality"):
        assert {f"figures/urban-{figure}.svg", f"figures/urban-{figure}.png"} <= names
    assert {"tables/urban-claims.md", "tables/urban-claims.tex"} <= names
    assert first[Path("figures/urban-auroc-cost.png")].startswith(b"\x89PNG")
