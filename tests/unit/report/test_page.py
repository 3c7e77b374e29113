"""The report: one file, nothing from outside, the same bytes, safe with any text."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zlib
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from flows.report.blocks import Table, Text
from flows.report.page import files_of, latex, markdown
from flows.report.run import DomainTable, RunSummary
from flows.report.sections import overview
from flows.report.traces import BLOCK, word_diff
from simulrag.records import Failure, MissingPoint
from tests.unit.metrics.synthetic import study
from tests.unit.report.made import (
    HOSTILE,
    corrected_study,
    grounded_answer,
    grounded_study,
    hostile_study,
    rows,
    run_of,
    traced,
    written,
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

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[self.tags[-1][1].get("id") or "code"] = data

    @property
    def traces(self) -> list[dict[str, Any]]:
        """All traces of the page's blocks, in order."""
        packed = [text for name, text in self.scripts.items() if name.startswith("block-")]
        return [item for text in packed for item in json.loads(zlib.decompress(b64decode(text)))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    written(folder, run_of(), grounded_study())
    return folder


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("report"), run_of(), study(8))


PAGES = ("index.html", "methods.html")


@pytest.mark.parametrize("name", PAGES)
def test_nothing_comes_from_outside(folder: Path, name: str) -> None:
    html = (folder / name).read_text(encoding="utf-8")
    # Base64 may hold two slashes; what it unpacks to is only ever shown as text.
    html = re.sub(r'(id="block-\d+">)[A-Za-z0-9+/=]*', r"\1", html)
    assert not re.search(r"https?:|//[a-z]|@import|url\(\s*['\"]?[^#'\")]", html)
    for tag, attributes in Page(html).tags:
        assert tag not in {"img", "iframe", "object", "embed"}
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith(("#", "data:,", *PAGES))
        assert not [name for name in attributes if name.startswith("on")]


@pytest.mark.parametrize(
    ("name", "sections", "fields"),
    [
        (
            "index.html",
            {"overview", "example", "questions", "ways", "sources"},
            {"search", "domain", "standing", "failed"},
        ),
        ("methods.html", {"answers", "claims", "cost"}, set()),
    ],
)
def test_it_is_well_formed_and_accessible(
    folder: Path, name: str, sections: set[str], fields: set[str]
) -> None:
    page = Page((folder / name).read_text(encoding="utf-8"))
    assert page.open == []
    names = [tag for tag, _ in page.tags]
    for landmark in ("header", "main", "footer", "h1"):
        assert names.count(landmark) == 1, landmark
    assert names.count("caption") == names.count("table") > 1
    assert all("scope" in found for tag, found in page.tags if tag == "th")
    figures = [found["aria-label"] or "" for _, found in page.tags if found.get("role") == "img"]
    assert len(figures) == names.count("figure") > 1
    assert all(len(words) > 20 for words in figures)
    ids = [found["id"] for _, found in page.tags if found.get("id")]
    assert len(ids) == len(set(ids))
    anchors = {found["href"] or "" for tag, found in page.tags if tag == "a"}
    inside = {one[1:] for one in anchors if one.startswith("#") and not one.startswith("#q=")}
    assert inside <= set(ids)
    assert sections <= inside
    labelled = {found.get("id") for tag, found in page.tags if tag in {"input", "select"}}
    assert labelled == fields


def test_the_answer_shown_first_has_the_most_marks(folder: Path) -> None:
    data = grounded_study()
    kinds = {
        answer.question_id: len({item.standing for item in answer.final.statements})
        for answer in data.answers
    }
    page = (folder / "index.html").read_text(encoding="utf-8")
    [shown] = re.findall(r'href="#q=([^"]+)"', page)
    assert kinds[shown] == max(kinds.values())


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; from tests.unit.report.made import *;"
        "import sys; written(Path(sys.argv[1]), run_of(), study(6))"
    )
    for name, seed in (("a", "1"), ("b", "2")):
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / name)],
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])},
        )
    files = [path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*")]
    assert {"index.html", "figures/urban-auroc-budget.svg"} <= {str(path) for path in files}
    assert {"tables/answers.md", "tables/coverage.csv"} <= {str(path) for path in files}
    for path in files:
        assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes(), path


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    summary = RunSummary(models={HOSTILE: HOSTILE}, replayed=(HOSTILE,), recorded=HOSTILE)
    spoiled = [
        replace(row, reason=HOSTILE, value=None, more={**row.more, "model": HOSTILE})
        for row in rows()
    ]
    table = DomainTable.of(HOSTILE, [*rows(), *spoiled])
    text = written(
        tmp_path / "page", run_of(replace(table, name="x"), summary=summary), hostile_study()
    )
    assert "<script>alert" not in text
    assert "<img" not in text
    page = Page(text)
    assert page.open == []
    trace = page.traces[1]
    assert trace["question"] == trace["final"] == trace["claims"][0]["text"] == HOSTILE
    assert json.loads(page.scripts["index"])[1]["text"] == HOSTILE


def test_a_trace_holds_the_whole_way(html: str) -> None:
    broken, trace, *_ = Page(html).traces
    assert len(trace["closed_book"]) == 5
    assert trace["evidence"][0]["call"] == "urban.compare_with_baseline"
    edited = next(one for one in trace["claims"] if one["verdict"] == "contradicted")
    assert [kind for kind, _ in edited["edit"]] == ["same", "removed", "added", "same"]
    assert edited["before"]["label"] in {"true", "false", "undecided"}
    assert len(edited["support"]) == 5
    assert broken["failure"]["step"] == "decompose"


def test_questions_are_gone_through_one_by_one(tmp_path: Path) -> None:
    """No record is asked for before the one before it is on the page or in its block."""
    data = study(2 * BLOCK + 1, claims=2)
    page = Page(written(tmp_path, run_of(), data))
    assert sum(name.startswith("block-") for name in page.scripts) == 3
    ids = [entry["id"] for entry in json.loads(page.scripts["index"])]
    assert [trace["id"] for trace in page.traces] == ids
    assert len(ids) == 2 * BLOCK + 1


def test_a_report_that_fails_leaves_the_last_one(tmp_path: Path) -> None:
    from flows.report.page import write_report

    before = written(tmp_path, run_of(), study(2))

    def breaks() -> Any:
        yield from traced(study(1))
        raise RuntimeError("the answers end here")

    with pytest.raises(RuntimeError, match="end here"):
        write_report(tmp_path / "index.html", run_of(), breaks())
    assert (tmp_path / "index.html").read_text(encoding="utf-8") == before
    assert not list(tmp_path.glob(".*"))


def test_no_question_at_all(tmp_path: Path) -> None:
    empty = run_of(DomainTable("urban", {}), summary=RunSummary())
    text = written(tmp_path, empty, study(0))
    assert "No question was answered" in text
    assert Page(text).open == []


def test_word_diff() -> None:
    before, after = "Time rises by 10 percent.", "Mean time rises by 12.5 percent."
    runs = word_diff(before, after)
    assert "".join(text for kind, text in runs if kind != "added") == before
    assert "".join(text for kind, text in runs if kind != "removed") == after
    assert ("removed", "10 ") in runs
    assert word_diff("same", "same") == [("same", "same")]


def test_a_question_of_the_paper_says_what_became_of_the_claims_it_kept(tmp_path: Path) -> None:
    first, _ = Page(written(tmp_path, run_of(), corrected_study())).traces
    said = [(one["claim"], one["standing"]) for one in first["says"]]
    # The other claim has a verdict that the answer did not make use of.
    assert said == [(1, "corrected"), (2, "outside")]
    assert first["says"][0]["text"] == "It rises by 12.5 percent."


def test_a_grounded_question_carries_its_marked_text(tmp_path: Path) -> None:
    text = written(tmp_path, run_of(), grounded_study())
    assert "<script>alert" not in text
    trace, hostile, alone = Page(text).traces
    assert trace["marked"]
    assert "".join(one["text"] for one in trace["stretches"]) == trace["final"]
    first, *_ = trace["stretches"]
    assert (first["standing"], first["runs"]) == ("judgement", [0])
    assert first["endings"] == [{"standing": "corrected", "runs": [0]}]
    assert [one["sign"] for one in trace["signs"]] == ["✓", "✎", "⊕", "✗", "?", "◇", "∅"]
    said = trace["says"][0]
    assert (said["before"], said["runs"], said["quote"]) == (
        "It falls.",
        [0],
        trace["final"][said["start"] : said["end"]],
    )
    assert [one["text"] for one in trace["says"] if one["start"] is None] == [
        "The effect holds all day.",
        "Noise falls.",
    ]
    assert hostile["says"][1]["correction"] == HOSTILE
    assert (len(alone["stretches"]), alone["signs"], alone["says"]) == (1, [], [])


def test_a_question_tells_what_the_text_lacks_and_each_problem_once(tmp_path: Path) -> None:
    data = study(1, failures=0)
    missing = [MissingPoint(text="The queue is 40 vehicles.", runs=(0,))]
    shown = grounded_answer("It rises.", [], missing=missing)
    assert shown.audit is not None
    assert shown.retrieval is not None
    twice = {
        "audit": shown.audit.model_copy(update={"problems": ("no run", "not mended")}),
        "retrieval": shown.retrieval.model_copy(update={"problems": ("no run",)}),
        "failed_steps": (Failure(step="second_look", reason="no reply"),),
    }
    page = Page(
        written(tmp_path, run_of(), replace(data, answers=(shown.model_copy(update=twice),)))
    )
    (trace,) = page.traces
    assert trace["missing"] == [{"text": "The queue is 40 vehicles.", "runs": [0]}]
    without = "The answer stands without a step that failed: second look (no reply)."
    assert trace["retrieval"]["problems"] == [without, "no run", "not mended"]


def test_other_questions_have_no_marks(html: str) -> None:
    for trace in Page(html).traces:
        assert not trace["marked"]
        assert (trace["stretches"], trace["signs"], trace["missing"]) == ([], [], [])


TABLE = Table(
    name="made",
    caption="A & B_1: 50 %",
    columns=("Budget", "Method", "F1"),
    rows=(("15 %", "Random", "0.500"), ("15 %", "UE|SBA", "—")),
    strong=(1,),
    best=((0, 2),),
    notes=("Dashes: undefined.",),
)


@pytest.mark.parametrize(
    ("models", "warned"),
    [
        ({"answer": "stand-in: any", "judge": "openai: m"}, "(answer)"),
        ({"answer": "openai: m"}, ""),
    ],
)
def test_numbers_of_stand_ins_are_said_to_mean_nothing(models: dict[str, str], warned: str) -> None:
    run = run_of()
    run = replace(run, summary=run.summary.model_copy(update={"models": models}))
    said = [block.text for block in overview.blocks(run) if isinstance(block, Text)]
    found = [text for text in said if "mean nothing" in text]
    assert [warned in text for text in found] == [True] * bool(warned)


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


def test_a_table_longer_than_a_page_of_latex_goes_over_several() -> None:
    long = latex(replace(TABLE, rows=TABLE.rows * 30))
    assert long.startswith("\\begin{longtable}{llr}\n\\caption{")
    assert (long.count(r"\toprule"), "{table}" in long) == (2, False)


def test_csv_has_the_cells() -> None:
    assert files_of(TABLE)["csv"].splitlines()[2] == "15 %,UE|SBA,—"
