"""The report: one file, nothing from outside, the same bytes, safe with any text."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from simulrag.metrics.tables import Tables, evaluate

from simulrag.errors import InputError
from simulrag.metrics.published import published_field, read_published
from simulrag.metrics.settings import MetricSettings
from simulrag.records import Retrieval
from simulrag.report.findings import findings
from simulrag.report.page import RunSummary, report_html
from simulrag.report.traces import BLOCK, word_diff
from tests.unit.metrics.hostile import HOSTILE, hostile_study
from tests.unit.metrics.synthetic import Study, answer, claim, evidence, failed, question, study

FAST = MetricSettings(bootstrap=100, random_seeds=3)
RUN = RunSummary(models={"answer": "openai: some-model"}, offline=False, params_hash="3f6c09a1")
PUBLISHED = Path(__file__).resolve().parents[3] / "data" / "published"


def tables_of(data: Study) -> Tables:
    return evaluate(data.answers, data.labels, data.finals, data.scenario_of, FAST)


def html_of(
    data: Study, run: RunSummary = RUN, published: dict[int, pl.DataFrame] | None = None
) -> str:
    return report_html(
        run,
        tables_of(data),
        questions=data.questions,
        answers=data.answers,
        labels=data.labels,
        published=published,
    )


class Page(HTMLParser):
    """Tags that are open, attributes seen, and the text of every script."""

    VOID = frozenset({"meta", "link", "input", "br", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[self.tags[-1][1].get("id") or "code"] = data


@pytest.fixture(scope="module")
def html() -> str:
    return html_of(study(8), published={1: read_published(PUBLISHED)})


def test_nothing_comes_from_outside(html: str) -> None:
    # Base64 may hold two slashes; what it unpacks to is only ever shown as text.
    html = re.sub(r'(id="block-\d+">)[A-Za-z0-9+/=]*', r"\1", html)
    assert not re.search(r"https?:|//[a-z]|@import|url\(\s*['\"]?[^#'\")]", html)
    for tag, attributes in Page(html).tags:
        assert tag not in {"img", "iframe", "object", "embed"}
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith(("#", "data:,"))
        assert not [name for name in attributes if name.startswith("on")]


def test_it_is_well_formed_and_accessible(html: str) -> None:
    page = Page(html)
    assert page.open == []
    names = [tag for tag, _ in page.tags]
    for landmark in ("header", "main", "nav", "footer", "h1"):
        assert names.count(landmark) == 1, landmark
    assert names.count("caption") == names.count("table") > 4
    assert all("scope" in found for tag, found in page.tags if tag == "th")
    figures = [found for tag, found in page.tags if found.get("role") == "img"]
    # A budget figure and a cost figure a metric, a curve a budget, boundary and reliability.
    assert len(figures) == 3 + 3 + 3 + 2
    assert all("UE+SBA: " in (found["aria-label"] or "") for found in figures[:3])
    ids = [found["id"] for _, found in page.tags if found.get("id")]
    assert len(ids) == len(set(ids))
    labelled = {found.get("id") for tag, found in page.tags if tag in {"input", "select"}}
    assert labelled == {"search", "domain", "verdict", "failed"}
    assert ("html", {"lang": "en"}) in page.tags


def test_the_same_bytes() -> None:
    data = study(6)
    assert html_of(data) == html_of(data)


def test_hostile_text_stays_text() -> None:
    run = RunSummary(models={HOSTILE: HOSTILE}, offline=False, notes=(HOSTILE,))
    text = html_of(hostile_study(), run)
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "49" not in re.findall(r"<li>(.*?)</li>", text)[0]
    page = Page(text)
    assert page.open == []
    trace = traces_of(page)[1]
    assert trace["question"] == trace["final"] == trace["claims"][0]["text"] == HOSTILE
    assert json.loads(page.scripts["index"])[1]["text"] == HOSTILE


def traces_of(page: Page) -> list[dict[str, Any]]:
    """All traces of the page's blocks, in order."""
    packed = [text for name, text in page.scripts.items() if name.startswith("block-")]
    return [item for text in packed for item in json.loads(zlib.decompress(b64decode(text)))]


def test_a_trace_holds_the_whole_way(html: str) -> None:
    found = traces_of(Page(html))
    trace = found[1]
    assert len(trace["closed_book"]) == 5
    assert trace["evidence"][0]["call"] == "urban.compare_with_baseline"
    edited = next(one for one in trace["claims"] if one["verdict"] == "contradicted")
    assert [kind for kind, _ in edited["edit"]] == ["same", "removed", "added", "same"]
    assert edited["before"]["label"] in {"true", "false", "undecided"}
    assert len(edited["support"]) == 5
    broken = found[0]
    assert broken["failure"] == {
        "step": "decompose",
        "reason": "the reply was no JSON: expected a list of claims",
    }


def test_warnings_cannot_be_missed() -> None:
    plain = html_of(study(3))
    assert 'class="warning" role="note"' not in plain
    data = study(3)
    oracle = data.answers[1].model_copy(
        update={"retrieval": Retrieval(status="oracle", evidence=(evidence(),))}
    )
    looked_up = Study(
        data.questions, (data.answers[0], oracle, data.answers[2]), data.labels, data.finals
    )
    text = html_of(looked_up, RUN.model_copy(update={"offline": True}))
    assert text.index("says nothing about language models") < text.index("Main finding")
    assert "For 1 of 3 questions the evidence was looked up" in text


def replayed_study() -> Study:
    """As published questions come in: under a name of their own, evidence looked up."""
    data = study(4, domain="urban-published")
    return Study(
        tuple(one.model_copy(update={"source": "published"}) for one in data.questions),
        tuple(
            one.model_copy(update={"retrieval": Retrieval(status="oracle", evidence=(evidence(),))})
            for one in data.answers
        ),
        data.labels,
        data.finals,
    )


def test_published_numbers_stand_beside_ours(html: str) -> None:
    assert "Published, gpt-4o" in html
    assert "0.783" in html  # Table 1: urban, AUROC, UE+SBA, Claude 3.5 Sonnet, 45 %
    assert "questions and simulator runs are others than the published ones" in html
    assert "Published" not in html_of(study(3))


def test_replayed_questions_are_the_comparable_ones() -> None:
    published = {1: read_published(PUBLISHED)}
    data = replayed_study()
    text = html_of(data, published=published)
    assert "urban-published: this run beside the published Table 1, urban" in text
    assert "0.783" in text
    assert "All 3 completed questions are published ones" in text
    mixed = Study(
        (*data.questions[:3], data.questions[3].model_copy(update={"source": "generated"})),
        data.answers,
        data.labels,
        data.finals,
    )
    assert "2 of 3 completed questions are published ones" in html_of(mixed, published=published)
    assert "Published, gpt-4o" not in html_of(study(2, failures=2), published=published)
    assert "Published, gpt-4o" not in html_of(study(2, domain="ocean"), published=published)


@pytest.mark.parametrize(
    ("domain", "field"),
    [("urban", "urban"), ("urban-published", "urban"), ("suburban", "suburban")],
)
def test_the_field_of_a_domain(domain: str, field: str) -> None:
    assert published_field(domain) == field


def test_selected_claims_alone_are_said_to_measure_nothing() -> None:
    data = study(4)
    answers = tuple(
        one.model_copy(
            update={
                "claims": tuple(
                    item if index in one.selected else item.model_copy(update={"verdict": None})
                    for index, item in enumerate(one.claims)
                )
            }
        )
        for one in data.answers
    )
    text = html_of(Study(data.questions, answers, data.labels, data.finals))
    reason = "answer.verify: selected verified only some claims"
    assert f"AUROC of UE+SBA is not known ({reason})" in text
    assert f"UE+SBA (15, 25, 45 %), all-RAG (100 %): {reason}." in text
    assert "undefined at every budget" in text


def test_missing_published_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"table1\.csv is missing"):
        read_published(tmp_path)


def test_all_failed_and_no_question() -> None:
    lost = Study((question("q", "s"),), (failed("q"),), (), ())
    text = html_of(lost)
    assert "is not known (undefined: no labelled claim)" in text
    assert Page(text).open == []
    assert "No question was answered" in html_of(Study((), (), (), ()))


def test_a_domain_without_a_true_claim_is_undefined_and_never_a_number() -> None:
    data = study(4)
    labels = tuple(one.model_copy(update={"label": "false"}) for one in data.labels)
    text = html_of(Study(data.questions, data.answers, labels, data.finals))
    assert "is not known (undefined: all claims have one label)" in text
    assert "undefined: no true claim" in text
    assert not re.search(
        r"\b(nan|None|inf)\b", re.sub(r"<script.*?</script>", "", text, flags=re.S)
    )


def test_one_question_only() -> None:
    text = html_of(study(1, failures=0))
    assert "no interval: one scenario only" in text
    assert Page(text).open == []


def test_an_answer_without_its_question() -> None:
    data = study(3)
    with pytest.raises(InputError, match="is not in the benchmark"):
        report_html(
            RUN, tables_of(data), questions=data.questions[:1], answers=data.answers, labels=()
        )


def test_a_finding_claims_no_more_than_its_interval() -> None:
    sentences = findings(tables_of(study(20)))
    assert sentences[0].startswith("Urban, claims, 25 % of them verified: UE+SBA has an AUROC of")
    gap = re.search(r"difference of ([+-][\d.]+) \[([+-][\d.]+), ([+-][\d.]+)\](.*)", sentences[0])
    assert gap is not None
    holds_zero = float(gap[2]) <= 0 <= float(gap[3])
    assert holds_zero == ("neither is shown to be better" in gap[4])
    single = evaluate([answer("q", [claim()])], [], [], {"q": "s"}, FAST)
    assert "not known" in findings(single)[0]


def test_word_diff() -> None:
    before, after = "Time rises by 10 percent.", "Mean time rises by 12.5 percent."
    runs = word_diff(before, after)
    assert "".join(text for kind, text in runs if kind != "added") == before
    assert "".join(text for kind, text in runs if kind != "removed") == after
    assert ("removed", "10 ") in runs
    assert ("added", "12.5 ") in runs
    assert word_diff("same", "same") == [("same", "same")]


def test_traces_lie_in_blocks_in_the_order_of_the_list() -> None:
    data = study(2 * BLOCK + 1, claims=2)
    page = Page(html_of(data))
    assert sum(name.startswith("block-") for name in page.scripts) == 3
    ids = [entry["id"] for entry in json.loads(page.scripts["index"])]
    assert [trace["id"] for trace in traces_of(page)] == ids
