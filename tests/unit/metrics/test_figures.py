"""Charts: what a reader can ask of a point, where the point lies, and what files hold."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import polars as pl
import pytest
from simulrag.metrics.tables import Tables, evaluate

from simulrag.metrics.settings import MetricSettings
from simulrag.report.domain import domain_figures
from simulrag.report.drawing import BLUE, Chart, Point, chart
from simulrag.report.figures import boundary_figure, precision_recall_figure
from simulrag.report.rendering import figure_files, inline_svg
from tests.unit.metrics.synthetic import study

SETTINGS = MetricSettings(bootstrap=100, random_seeds=3, further_centralities=("degree",))
MARK = re.compile(
    r'class="mark"(?: data-series="(\d)")? cx="([\d.]+)" cy="([\d.]+)" r="6"><title>(.*?)<'
)


def said_by(drawn: Chart) -> list[str]:
    """What the marks of a chart say, in order."""
    return [html.unescape(words) for *_, words in MARK.findall(inline_svg(drawn, "salt"))]


@pytest.fixture(scope="module")
def tables() -> Tables:
    data = study(8)
    return evaluate(data.answers, data.labels, data.finals, data.scenario_of, SETTINGS)


def test_a_mark_lies_on_its_point() -> None:
    said = "<b> & 'c'"
    with chart("x", "y", "") as drawn:
        drawn.line("one", [Point(0, 0, "start"), Point(1, 1, said, 0.5, 2)], BLUE)
        drawn.axes.set_xlim(0, 2)
        drawn.axes.set_ylim(0, 2)
    text = inline_svg(drawn, "salt")
    (_, x0, y0, _), (series, x1, y1, words) = MARK.findall(text)
    frame = drawn.axes.get_position()
    width, height = (
        float(part) for part in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)[0]
    )
    # The second point is the middle of the axes, the first their lower left corner.
    assert float(x0) == pytest.approx(frame.x0 * width, abs=0.1)
    assert float(y0) == pytest.approx((1 - frame.y0) * height, abs=0.1)
    assert float(x1) == pytest.approx((frame.x0 + frame.x1) / 2 * width, abs=0.1)
    assert float(y1) == pytest.approx((1 - (frame.y0 + frame.y1) / 2) * height, abs=0.1)
    assert series == "0"
    assert words == "&lt;b&gt; &amp; &#x27;c&#x27;"
    assert text.count('<g data-series="0">') == 2, "a line and its intervals"
    assert [key.name for key in drawn.legend] == ["one"]


def test_a_chart_without_values_says_so() -> None:
    with chart("x", "y", "undefined here") as drawn:
        drawn.line("none", [], BLUE)
    assert "undefined here" in inline_svg(drawn, "salt")
    assert drawn.legend == ()
    assert b"undefined here" in figure_files(drawn, "salt")["svg"]


def test_drawing_files_leaves_the_page_as_it_was(tables: Tables) -> None:
    for picture in domain_figures(tables, "urban"):
        before = inline_svg(picture.chart, picture.name)
        files = figure_files(picture.chart, picture.name)
        assert inline_svg(picture.chart, picture.name) == before, picture.name
        legend = [key.name.encode() for key in picture.chart.legend]
        assert all(name in files["svg"] for name in legend)
        assert files["png"].startswith(b"\x89PNG")


def test_every_kind_has_one_leading_picture(tables: Tables) -> None:
    pictures = list(domain_figures(tables, "urban"))
    kinds = {picture.kind for picture in pictures}
    assert kinds == {
        *("budget", "cost", "centrality", "precision-recall", "boundary", "reliability")
    }
    leading = [picture.name for picture in pictures if picture.leading]
    assert len(leading) == len(kinds)
    assert "urban-precision-recall" in leading
    assert "urban-auroc-budget" in leading


def test_points_say_value_interval_and_number(tables: Tables) -> None:
    for picture in domain_figures(tables, "urban"):
        said = said_by(picture.chart)
        assert said, picture.name
        assert all(re.search(r"\d claims( kept|, |$)", words) for words in said), picture.name
        if picture.kind != "precision-recall":
            assert all(re.search(r"\d\.\d{3} \[\d\.\d{3}, \d\.\d{3}\]", one) for one in said)


def test_a_curve_keeps_more_claims_at_higher_recall(tables: Tables) -> None:
    rows = tables.precision_recall.filter(method="UE+SBA", budget_percent=15)
    assert rows["n"].is_sorted()
    said = [
        words
        for *_, words in MARK.findall(inline_svg(precision_recall_figure(tables, "urban", 15), "s"))
    ]
    ours = [words for words in said if words.startswith("UE+SBA")]
    assert len(ours) == 10
    assert ours[-1] == (
        f"UE+SBA, 15 % verified: precision {rows['precision'][-1]:.3f} at recall 1.00, "
        f"{rows['n'][-1]} claims kept"
    )


def test_boundary_bars_state_the_table(tables: Tables) -> None:
    said = said_by(boundary_figure(tables, "urban"))
    row = tables.boundary.row(0, named=True)
    assert said[0].startswith(f"Claims judged outside the simulator's reach: {row['value']:.3f}")
    assert said[0].endswith(f"of {row['n']} claims")
    assert len(said) == 3


def test_an_undefined_share_has_a_name_and_no_bar(tables: Tables) -> None:
    lost = pl.when(pl.col("metric") != "filtered_decidable").then(pl.col("value"))
    partly = replace(tables, boundary=tables.boundary.with_columns(lost.alias("value")))
    drawn = boundary_figure(partly, "urban")
    assert len(said_by(drawn)) == 2
    assert "claims outside that verification could decide: undefined" in inline_svg(drawn, "s")
    nothing = tables.boundary.with_columns(pl.lit(None, pl.Float64).alias("value"))
    drawn = boundary_figure(replace(tables, boundary=nothing), "urban")
    assert said_by(drawn) == []
    assert "undefined: the notes below" in inline_svg(drawn, "s")


def test_no_picture_says_nan() -> None:
    data = study(1, failures=0)
    alone = evaluate(data.answers, (), data.finals, data.scenario_of, SETTINGS)
    for picture in domain_figures(alone, "urban"):
        assert "nan" not in inline_svg(picture.chart, picture.name).lower(), picture.name
