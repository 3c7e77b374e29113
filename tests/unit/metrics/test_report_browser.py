"""The report in a browser: what the scripts add, by pointer and by keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from simulrag.metrics.tables import evaluate

from simulrag.metrics.settings import MetricSettings
from simulrag.report.page import RunSummary, report_html
from simulrag.report.traces import BLOCK
from tests.servers.browser import CHROMIUM, NO_CHROMIUM, Page, browser
from tests.unit.metrics.hostile import HOSTILE, hostile_study
from tests.unit.metrics.synthetic import Study, study

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)

FAST = MetricSettings(bootstrap=100, random_seeds=3)
BUDGET = 'figure[data-choice="Metric"]:not([hidden])'
"""The figure of a metric against the budget, the first of each kind."""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as page:
        page.offline()
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        yield page


def opened(tab: Page, folder: Path, data: Study, fragment: str = "") -> Page:
    """The report of a study, its first question drawn."""
    tables = evaluate(data.answers, data.labels, data.finals, data.scenario_of, FAST)
    text = report_html(
        RunSummary(models={"answer": "rules"}, offline=True),
        tables,
        questions=data.questions,
        answers=data.answers,
        labels=data.labels,
    )
    file = folder / "index.html"
    file.write_text(text, encoding="utf-8")
    tab.errors.clear()
    tab.open(file.as_uri() + fragment)
    tab.until("document.querySelector('#trace h3') !== null")
    return tab


def test_hostile_text_stays_text(tab: Page, tmp_path: Path) -> None:
    page = opened(tab, tmp_path, hostile_study(), "#q=urban-001")
    assert "3 of 3 questions" in page.text("#count")
    assert HOSTILE.replace("\u2028", "") in page.text("#trace").replace("\u2028", "")
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.text(".graph li .text").startswith("1. </script>")
    assert page.errors == []


def test_a_link_opens_a_question_of_a_later_block(tab: Page, tmp_path: Path) -> None:
    data = study(BLOCK + 5, claims=2)
    wanted = data.questions[BLOCK + 2].question_id
    page = opened(tab, tmp_path, data, f"#q={wanted}")
    page.until(f"document.querySelector('#trace h3').textContent === {json.dumps(wanted)}")
    assert page.errors == []


def test_arrow_keys_ask_the_points_of_a_figure(tab: Page, tmp_path: Path) -> None:
    page = opened(tab, tmp_path, study(8))
    page.evaluate(f"document.querySelector('{BUDGET} .mark').focus()")
    said = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(said).startswith("Random, 15 % verified: AUROC 0.")
    page.press("ArrowRight")
    assert page.evaluate(said).startswith("Random, 25 % verified: AUROC 0.")
    page.press("ArrowDown")
    assert page.evaluate(said).startswith("Verbalized, 25 % verified: AUROC 0.")
    assert page.text(f"{BUDGET} .tip") == page.evaluate(said)
    assert page.evaluate("document.querySelectorAll('[tabindex=\"0\"].mark').length") == (
        page.evaluate("document.querySelectorAll('.plot').length")
    )
    page.press("Escape")
    assert page.text(f"{BUDGET} .tip") == ""
    assert page.errors == []


def test_the_pointer_asks_the_nearest_point(tab: Page, tmp_path: Path) -> None:
    page = opened(tab, tmp_path, study(8))
    page.look(1000, 900)
    page.evaluate(f"document.querySelector('{BUDGET}').scrollIntoView()")
    mark = f"document.querySelectorAll('{BUDGET} .mark')[4]"
    place = page.evaluate(f"(({{x, y}}) => [x, y])({mark}.getBoundingClientRect())")
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0] + 7, y=place[1] + 8)
    assert page.text(f"{BUDGET} .tip") == page.evaluate(f"{mark}.getAttribute('aria-label')")
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
    assert page.text(f"{BUDGET} .tip") == ""


def test_a_metric_is_chosen_for_all_figures_and_a_series_hidden_in_its_alternatives(
    tab: Page, tmp_path: Path
) -> None:
    page = opened(tab, tmp_path, study(8))
    captions = "[...document.querySelectorAll('figure:not([hidden])')].map((one) => one.innerText)"
    assert sum("AUROC against" in text for text in page.evaluate(captions)) == 2
    page.evaluate(f"document.querySelector('{BUDGET} .legend button').click()")
    page.evaluate(
        "const of = document.querySelector('select[data-of=\"Metric\"]'); of.value = 'F1';"
        "of.dispatchEvent(new Event('input'))"
    )
    assert sum("F1 against" in text for text in page.evaluate(captions)) == 2
    assert not any("AUROC against" in text for text in page.evaluate(captions))
    shown = f"getComputedStyle(document.querySelector('{BUDGET} g[data-series=\"0\"]')).display"
    assert page.evaluate(shown) == "none"
    pressed = f"document.querySelector('{BUDGET} .legend button').getAttribute('aria-pressed')"
    assert page.evaluate(pressed) == "false"
    first = f"document.querySelector('{BUDGET} [tabindex=\"0\"].mark').getAttribute('aria-label')"
    assert page.evaluate(first).startswith("Verbalized, 15 % verified: F1")
    page.evaluate(f"document.querySelector('{BUDGET} .legend button').click()")
    assert page.evaluate(shown) == "inline"
    assert page.errors == []


def test_one_domain_is_shown_alone(tab: Page, tmp_path: Path) -> None:
    parts = [study(3), study(3, domain="climate")]
    both = Study(
        questions=tuple(one for part in parts for one in part.questions),
        answers=tuple(one for part in parts for one in part.answers),
        labels=tuple(one for part in parts for one in part.labels),
        finals=tuple(one for part in parts for one in part.finals),
    )
    page = opened(tab, tmp_path, both)
    page.evaluate(
        "const of = document.querySelector('.domains select'); of.value = 'climate';"
        "of.dispatchEvent(new Event('input'))"
    )
    assert page.text("#domain-1") == ""
    assert page.text("#domain-2") == "Results: climate"
    page.evaluate("document.querySelector('a[href=\"#domain-1\"]').click()")
    assert page.text("#domain-1") == "Results: urban"


def test_the_claim_graph(tab: Page, tmp_path: Path) -> None:
    data = study(3, failures=0)
    page = opened(tab, tmp_path, data)
    claims = data.answers[0].claims
    edges = sum(sum(item.support) for item in claims)
    assert page.evaluate("document.querySelectorAll('.graph .edge').length") == edges
    assert page.evaluate("document.querySelectorAll('.graph .claim').length") == len(claims)
    first = "document.querySelector('.graph a')"
    label = page.evaluate(f"{first}.getAttribute('aria-label')")
    assert label.startswith("Claim 1, confidence 0.")
    assert "the simulator's reach" in label
    page.evaluate(f"{first}.focus()")
    lit = page.evaluate("document.querySelectorAll('.graph .edge.on').length")
    assert lit == sum(claims[0].support)
    page.press("Enter")
    assert page.evaluate("document.activeElement.id") == "claim-1"
    page.evaluate("document.querySelector('.graph button').focus()")
    lit = page.evaluate("document.querySelectorAll('.graph .edge.on').length")
    assert lit == sum(item.support[0] for item in claims)
    assert page.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(tab: Page, tmp_path: Path, scheme: str) -> None:
    page = opened(tab, tmp_path, study(6))
    page.look(390, 844, scheme)
    page.open(page.evaluate("location.href"))
    page.until("document.querySelector('.graph') !== null")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    right = page.evaluate("document.querySelector('.graph').getBoundingClientRect().right")
    assert 300 < right <= 390
    page.look(1000, 900)
