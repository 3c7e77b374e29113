"""The report in a browser: what the scripts add, by pointer and by keyboard."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import pytest

from flows.report.run import DomainTable
from flows.report.traces import BLOCK
from tests.servers.browser import CHROMIUM, NO_CHROMIUM, Page, browser
from tests.unit.metrics.synthetic import Study, study
from tests.unit.report.made import (
    HOSTILE,
    corrected_study,
    grounded_study,
    hostile_study,
    rows,
    run_of,
    written,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
]

BUDGET = "#urban-auroc-budget"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as page:
        page.offline()
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        yield page


def opened(
    tab: Page, folder: Path, data: Study, fragment: str = "", domains: tuple[str, ...] = ("urban",)
) -> Page:
    """The report of a study, its first question drawn."""
    written(folder, run_of(*(DomainTable.of(name, rows(name)) for name in domains)), data)
    tab.errors.clear()
    tab.open((folder / "index.html").as_uri() + fragment)
    tab.until("document.querySelector('#trace h3') !== null")
    return tab


def methods(tab: Page, folder: Path, data: Study, domains: tuple[str, ...] = ("urban",)) -> Page:
    """The second page of its report."""
    page = opened(tab, folder, data, domains=domains)
    page.open((folder / "methods.html").as_uri())
    page.until("document.querySelector('.plot') !== null")
    return page


def test_hostile_text_stays_text(tab: Page, tmp_path: Path) -> None:
    page = opened(tab, tmp_path, hostile_study(), "#q=urban-001")
    assert "3 of 3 questions" in page.text("#count")
    assert HOSTILE.replace("\u2028", "") in page.text("#trace").replace("\u2028", "")
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.text(".graph li .text").startswith("1. </script>")
    assert page.errors == []


def test_a_part_of_the_answer_opens_to_its_claim_and_the_run_by_keyboard(
    tab: Page, tmp_path: Path
) -> None:
    page = opened(tab, tmp_path, corrected_study())
    first, second = "#trace .says > li:first-child", "#trace .says > li:nth-child(2)"
    said = "It rises by 12.5 percent. corrected by the simulator"
    assert page.text(f"{first} summary") == said
    page.evaluate(f"document.querySelector('{first} summary').focus()")
    page.press("Enter")
    page.until(f"document.querySelector('{first} .facts-line') !== null")
    opened_part = page.text(first)
    assert "verdict contradicted" in opened_part
    assert "The evidence it was read against" in opened_part
    assert page.text(f"{second} summary").endswith("outside the simulator's reach")
    page.evaluate(f"document.querySelector('{first} a').focus()")
    page.press("Enter")
    assert page.evaluate("document.activeElement.id") == "claim-2"
    assert page.errors == []


def test_a_mark_says_what_stands_behind_it_and_leads_to_its_run(tab: Page, tmp_path: Path) -> None:
    page = opened(tab, tmp_path, grounded_study())
    assert page.text("#trace .marked") == (
        "Mean travel time rises by 12.5 percent✎1, which is significant◇. At the peak it is "
        "136 s✓1,2, up from 121 s. Freight would be hit hardest?, and residents may complain∅. "
        "Speed falls to 31 km/h.⊕2 Cycling may gain✗1."
    )
    added = "document.querySelector('.marked a.stands-added')"
    assert page.evaluate(f"{added}.title") == "⊕ added from run 2"
    page.evaluate(f"{added}.click()")
    assert page.evaluate("document.activeElement.id") == "run-2"
    assert page.text("#run-2").startswith("Run 2\nurban.compare_with_baseline(")
    page.evaluate("document.querySelector('.marked sup.stands-checked a').focus()")
    page.press("Enter")
    assert page.evaluate("document.activeElement.id") == "run-1"
    assert page.errors == []


def test_statements_are_told_in_words_with_their_runs(tab: Page, tmp_path: Path) -> None:
    page = opened(tab, tmp_path, grounded_study())
    trace = page.text("#trace")
    assert "Final answer: SimulRAG grounded" in trace
    assert "Said as well, in words that are not found in the text:" in trace
    assert page.text("#trace .legend").startswith("✓ checked by a run · ✎ corrected by a run · ")
    apart = "The effect holds all day. ✓ checked by run 2 Noise falls. ∅ beyond the simulator"
    assert page.text("ul.says").split() == apart.split()
    assert page.evaluate("document.querySelectorAll('ol.says > li').length") == 9
    first = page.text("ol.says > .stands-corrected").split()
    told = "Mean travel time rises by 12.5 percent. ✎ corrected by run 1 It said: It falls."
    assert first == told.split()
    assert "The evidence says: It loses." in page.text("ol.says > .stands-wrong")
    assert "Claims (0)" not in trace
    page.evaluate("document.querySelector('ol.says .stands-added a').click()")
    assert page.evaluate("document.activeElement.id") == "run-2"
    page.evaluate("document.querySelectorAll('#list button')[2].click()")
    page.until("document.querySelector('#trace h3').textContent === 'urban-002'")
    assert page.text("#trace .marked") == "Nobody can say."
    assert "(unverified)" in page.text("#trace")
    assert page.errors == []


def test_hostile_text_stays_text_in_marks(tab: Page, tmp_path: Path) -> None:
    page = opened(tab, tmp_path, grounded_study(), "#q=urban-001")
    said = HOSTILE.replace("\u2028", "")
    assert said in page.text("#trace .marked").replace("\u2028", "")
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.errors == []


def test_the_papers_answer_is_told_by_the_claims_it_was_written_from(
    tab: Page, tmp_path: Path
) -> None:
    data = study(2, failures=0)
    page = opened(tab, tmp_path, data)
    kept = data.answers[0].final.kept
    assert page.evaluate("document.querySelectorAll('#trace .says > li').length") == len(kept)
    assert page.errors == []


def test_two_clicks_lead_from_a_number_to_the_calls_behind_it(tab: Page, tmp_path: Path) -> None:
    page = opened(tab, tmp_path, study(3, failures=0), domains=("urban", "climate"))
    number = "[...document.querySelectorAll('td')].find((one) => one.innerText.startsWith('0.'))"
    page.evaluate(f"{number}.closest('table').querySelector('[data-asked=climate]').click()")
    assert page.text("#count") == "0 of 3 questions"
    page.evaluate("document.querySelector('[data-asked=urban]').click()")
    assert page.text("#count") == "3 of 3 questions"
    page.evaluate("document.querySelectorAll('#list button')[1].click()")
    page.until("document.querySelector('#calls') !== null")
    shown = page.text("#calls")
    assert "simulator run" in shown
    assert "0123456789ab" in shown
    assert "abababababab cdcdcdcdcdcd" in shown
    assert page.errors == []


def test_a_table_wider_than_the_page_says_so(tab: Page, tmp_path: Path) -> None:
    page = opened(tab, tmp_path, study(2))
    cut = "document.querySelector('#ways .wide').classList.contains('scrolls')"
    page.look(390, 844)
    page.until(cut)
    page.look(1600, 900)
    page.until(f"!{cut}")


@pytest.mark.parametrize("data", [corrected_study, grounded_study])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(
    tab: Page, tmp_path: Path, width: int, scheme: str, data: Callable[[], Study]
) -> None:
    """And finds what was made wrong."""
    page = opened(tab, tmp_path, data())
    page.look(width, 900, scheme)
    parts = "document.querySelectorAll('.says details')"
    page.evaluate(f"{parts}.forEach((one) => {{ one.open = true; }})")
    axe = resources.files("axe_core_python").joinpath("axe.min.js").read_text() + "; 0"
    page.evaluate(axe)
    serious = (
        "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations"
        ".filter((one) => ['serious', 'critical'].includes(one.impact)).map((one) => one.id))"
    )
    assert page.evaluate(serious) == []
    page.open((tmp_path / "methods.html").as_uri())
    page.evaluate(axe)
    assert page.evaluate(serious) == []
    page.evaluate("document.documentElement.removeAttribute('lang')")
    assert page.evaluate(serious) == ["html-has-lang"]


def test_a_link_opens_a_question_of_a_later_block(tab: Page, tmp_path: Path) -> None:
    data = study(BLOCK + 5, claims=2)
    wanted = data.questions[BLOCK + 2].question_id
    page = opened(tab, tmp_path, data, f"#q={wanted}")
    page.until(f"document.querySelector('#trace h3').textContent === {json.dumps(wanted)}")
    assert page.errors == []


def test_arrow_keys_ask_the_points_of_a_figure(tab: Page, tmp_path: Path) -> None:
    page = methods(tab, tmp_path, study(8))
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
    page = methods(tab, tmp_path, study(8))
    page.look(1000, 900)
    page.evaluate(f"document.querySelector('{BUDGET}').scrollIntoView()")
    mark = f"document.querySelectorAll('{BUDGET} .mark')[4]"
    place = page.evaluate(
        f"(({{x, y, width}}) => [x + width / 2, y])({mark}.getBoundingClientRect())"
    )
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    assert page.text(f"{BUDGET} .tip") == page.evaluate(f"{mark}.getAttribute('aria-label')")
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
    assert page.text(f"{BUDGET} .tip") == ""


def test_a_metric_is_chosen_for_all_figures_and_a_series_hidden_in_its_alternatives(
    tab: Page, tmp_path: Path
) -> None:
    page = methods(tab, tmp_path, study(8))
    captions = "[...document.querySelectorAll('figure:not([hidden])')].map((one) => one.innerText)"
    assert sum("AUROC against" in text for text in page.evaluate(captions)) == 2
    key = f"document.querySelector('{BUDGET} .key')"
    page.evaluate(f"{key}.focus()")
    page.press("Enter")
    page.evaluate(
        "const of = document.querySelector('select[data-of=\"Metric\"]'); of.value = 'F1';"
        "of.dispatchEvent(new Event('input'))"
    )
    assert sum("F1 against" in text for text in page.evaluate(captions)) == 2
    assert not any("AUROC against" in text for text in page.evaluate(captions))
    other = "#urban-f1-budget"
    shown = f"getComputedStyle(document.querySelector('{other} g[data-series=\"0\"]')).display"
    assert page.evaluate(shown) == "none"
    assert page.evaluate(f"{key}.getAttribute('aria-pressed')") == "false"
    first = f"document.querySelector('{other} [tabindex=\"0\"].mark').getAttribute('aria-label')"
    assert page.evaluate(first).startswith("Verbalized, 15 % verified: F1")
    page.evaluate(f"{key}.dispatchEvent(new Event('click'))")
    assert page.evaluate(shown) == "inline"
    assert page.errors == []


def test_a_figure_is_saved_as_a_picture(tab: Page, tmp_path: Path) -> None:
    page = methods(tab, tmp_path, study(2))
    page.evaluate(
        "window.saved = null; HTMLAnchorElement.prototype.click = function () { saved = this; };"
        f"document.querySelector('{BUDGET} .save').click()"
    )
    page.until("window.saved !== null")
    assert page.evaluate("saved.download") == "urban-auroc-budget.png"
    assert page.evaluate("saved.href.startsWith('data:image/png;base64,')")
    assert page.evaluate("saved.href.length") > 20_000
    assert page.errors == []


def test_one_domain_is_shown_by_itself(tab: Page, tmp_path: Path) -> None:
    page = opened(tab, tmp_path, study(3), domains=("urban", "climate"))
    page.evaluate(
        "const of = document.querySelector('.contents select'); of.value = 'climate';"
        "of.dispatchEvent(new Event('input'))"
    )
    shown = "[...document.querySelectorAll('[data-domain]:not([hidden])')]"
    names = page.evaluate(f"[...new Set({shown}.map((one) => one.dataset.domain))]")
    assert names == ["climate"]
    assert page.errors == []


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
    page = opened(tab, tmp_path, grounded_study(), "#q=urban-001")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.look(1000, 900)
