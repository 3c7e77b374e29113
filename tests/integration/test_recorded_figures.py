"""The numbers of docs/results.md are those that the recorded answers and labels give."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl
import pytest

from flows.cli.ask import show_answer
from flows.files import record_lines
from flows.report.blocks import interval
from flows.report.recipes import VariantSummary, pooled, recipes_of
from flows.report.run import DomainTable
from simulrag.method.numbers import numbers
from simulrag.metrics.domain import DomainData
from simulrag.metrics.families import measure
from simulrag.metrics.table import Measurement, read_table, rows_of
from simulrag.records import Answer
from tests.recorded import ROOT, Replayed, data_of

PAGE = (ROOT / "docs/results.md").read_text(encoding="utf-8")
OWN = ("urban", "climate", "epidemiology")
PUBLISHED = tuple(f"{domain}-published" for domain in OWN)
SEARCH = tuple(f"{domain}-search" for domain in OWN)
SETS = (OWN, SEARCH, PUBLISHED)

Tables = Mapping[str, DomainTable]
"""Of a domain all that is measured of it, with intervals."""


@pytest.fixture(scope="module")
def data(replayed: Replayed) -> dict[str, DomainData]:
    settings = replayed.params.metrics
    return {name: data_of(replayed, name, settings) for name in replayed.params.domains}


@pytest.fixture(scope="module")
def tables(data: Mapping[str, DomainData]) -> Tables:
    return {name: DomainTable.of(name, measure(of)) for name, of in data.items()}


@pytest.fixture(scope="module")
def rooms(replayed: Replayed) -> Tables:
    """By the files' names: ``score-urban``."""
    return {
        file.stem: DomainTable.of(file.stem, rows_of(read_table(file)))
        for file in replayed.results.metrics.glob("*.csv")
    }


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def shows(*cells: str) -> None:
    """The page has a table's row with these cells."""
    assert row(*cells) in PAGE.splitlines()


def says(words: str) -> None:
    """The page has these words, wherever its lines break."""
    assert words in " ".join(PAGE.split())


def span(values: Sequence[float | None], places: int) -> str:
    """Write "0.39 to 0.48", or one number where all are alike."""
    shown = [f"{value:.{places}f}" for value in sorted(value or 0.0 for value in values)]
    return shown[0] if shown[0] == shown[-1] else f"{shown[0]} to {shown[-1]}"


def recipes(table: DomainTable) -> dict[str, VariantSummary]:
    rows = (*table.rows("answers"), *table.rows("method_cost"))
    return {one.name: one for one in recipes_of(rows, "excluded")}


SHORT = {
    "closed book, from memory": ("closed book", "none"),
    "RAG, the runs in the prompt": ("input RAG", "none"),
    "grounded, RAG and an audit": ("grounded", "on every statement"),
}
WANTED = ("a quick guess", "true numbers", "true numbers, and to see what is behind each statement")
"""What README says each of them is for."""


@pytest.mark.parametrize("line", SHORT)
def test_in_short(tables: Tables, line: str) -> None:
    name, marks = SHORT[line]
    found = [recipes(tables[domain])[name] for domain in OWN]
    cost = span([one.value("calls") for one in found], 1 if name == "grounded" else 0)
    worth = (span([one.value(of) for one in found], 2) for of in ("factuality", "completeness"))
    shows(line, cost, *worth, marks)
    shares = sorted({round(100 * (one.value("factuality") or 0)) for one in found})
    share = f"{shares[0]} to {shares[-1]} %" if len(shares) > 1 else f"{shares[0]} %"
    readme = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert f"| {WANTED[list(SHORT).index(line)]} | {line} | {cost} | {share} |" in readme


def test_readme_opens_with_a_recorded_answer(
    replayed: Replayed, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```\n\$ simulrag ask (\S+) .*?\n(.*?)```", readme, re.DOTALL)
    assert found is not None
    question, shown = found.groups()
    file = replayed.results.answers(question.rpartition("-")[0])
    [answer] = [one for one in record_lines(file, Answer) if one.question_id == question]
    show_answer("", answer, "recorded answer", "closeness")
    printed = " ".join(capsys.readouterr().out.split())
    for part in re.split(r"\[\.\.\.\]|\n\n", shown):
        assert " ".join(part.split()) in printed, part


RECIPES = {"closed book": "closed book", "RAG": "input RAG", "paper, 25 %": "paper 25 %"} | {
    "paper, 100 %": "paper 100 %",
    "grounded": "grounded",
}


def test_every_way_to_answer_is_measured(tables: Tables) -> None:
    names = {*RECIPES.values(), "output RAG", "paper 25 %, m = 1", "paper 100 %, m = 1"}
    for domain in OWN:
        found = recipes(tables[domain])
        assert set(found) == names, "nobody looked twice by plan, so RAG by looks is left out"
        assert {one.questions for one in found.values()} == {15}


@pytest.mark.parametrize("line", RECIPES)
def test_own_questions(tables: Tables, line: str) -> None:
    found = [recipes(tables[domain])[RECIPES[line]] for domain in OWN]
    calls = span([one.value("calls") for one in found], 1 if line == "grounded" else 0)
    shows(line, calls, *(interval(one.found["factuality"], places=2) for one in found))
    for what, of, places in (
        ("true claims", "informativeness", 1),
        ("undecided claims", "undecided_claims", 1),
        ("asked values", "completeness", 2),
    ):
        shows(what, line, *(f"{one.value(of):.{places}f}" for one in found))


def test_what_the_default_took(tables: Tables, replayed: Replayed) -> None:
    found = [recipes(tables[domain]) for domain in OWN]
    calls = sum(one["grounded"].value("calls") or 0 for one in found) / len(found)
    says(f"Grounded takes {calls:.1f} calls a question")
    paper, own = (
        span([one[name].value("words") for one in found for name in names], 0)
        for names in (("paper 25 %", "paper 100 %"), ("grounded",))
    )
    says(f"The paper's texts have {paper} words, grounded's {own}")
    answers = [
        answer
        for domain in OWN
        for answer in record_lines(replayed.results.answers(domain), Answer)
    ]
    steps = Counter(step for answer in answers for step in answer.usage)
    says(f"{steps['second_look']} of the 45 answers")
    same = sum(
        text.line.method == "input_rag" and text.text == answer.final.text
        for answer in answers
        for text in answer.baselines
        if answer.final is not None
    )
    says(f"{same} of grounded's 45 texts equal RAG's letter for letter")
    says(f"In the other {steps['mend']}")
    assert same + steps["mend"] == 45


@pytest.mark.parametrize(
    ("line", "baseline", "metric", "undecided"),
    [
        ("RAG, undecided counted as false", "input_rag", "factuality", "false"),
        ("paper, 100 %", "simulrag", "factuality", "excluded"),
    ],
)
def test_grounded_less_what_stands_beside_it(
    tables: Tables, line: str, baseline: str, metric: str, undecided: str
) -> None:
    shows(line, *(less(tables[domain], baseline, metric, undecided) for domain in OWN))


def less(table: DomainTable, baseline: str, metric: str, undecided: str = "excluded") -> str:
    """Grounded's difference to what stands beside it."""
    where = {"method": "grounded", "baseline": baseline, "undecided": undecided}
    return gain(table.one("comparisons", metric, **where, unit="difference"))


def gain(found: Measurement | None, places: int = 3) -> str:
    """Write "+0.053 [0.000, 0.104]": a sign before the value, none before zero."""
    shown = interval(found, signed=True, places=places)
    return re.sub(r"\+(?=0\.0+\b(?!\d))|(?<=[\[ ])\+", "", shown)


MARKS = {
    "checked": "checked by a run",
    "corrected": "corrected by a run",
    "judgement": "judgement",
    "not_run": "not run, though a run could decide it",
    "beyond": "beyond the simulator",
}


def counted(tables: Tables, domains: Sequence[str], mark: str) -> tuple[int, ...]:
    """Statements of grounded answers with a mark: true, false, undecided."""
    counts = dict.fromkeys(("true", "false", "undecided", "unlabelled"), 0)
    for one in (one for domain in domains for one in tables[domain].rows("standings")):
        if (one.method, one.level) == ("grounded", mark) and one.metric in counts:
            counts[one.metric] += int(one.value or 0)
    assert counts.pop("unlabelled") == 0
    return tuple(counts.values())


@pytest.mark.parametrize("mark", MARKS)
def test_what_a_mark_is_worth(tables: Tables, mark: str) -> None:
    shows(MARKS[mark], *(", ".join(map(str, counted(tables, names, mark))) for names in SETS))


def test_how_much_the_marks_cover(tables: Tables) -> None:
    assert not any(sum(counted(tables, OWN, mark)) for mark in ("wrong", "added"))
    all_of_them = [counted(tables, OWN, mark) for mark in MARKS]
    decided = sum(true + false for true, false, _ in all_of_them)
    total = sum(map(sum, all_of_them))
    says(f"The references decide {decided} of the {total} statements")
    says(f"({100 * decided / total:.0f} %)")
    _, false, _ = counted(tables, PUBLISHED, "checked")
    assert counted(tables, ["climate-published"], "checked")[1] == false
    says(f"All {('no', 'one', 'two', 'three', 'four', 'five', 'six')[false]} false ones")


@pytest.mark.parametrize(
    ("texts", "line"),
    [("plain", "plain"), ("harder", "harder")],
)
def test_planted_errors(texts: str, line: str) -> None:
    found, corrected = planted()["found", texts], planted()["corrected", texts]
    share = int(corrected["count"]) / int(corrected["of"])
    ends = (f"{float(corrected[end]):.2f}" for end in ("lower_95", "upper_95"))
    cells = row(found["of"], found["count"], corrected["count"], f"{share:.2f} [{', '.join(ends)}]")
    assert any(text.startswith(f"| {line}") and text.endswith(cells) for text in PAGE.splitlines())


def planted() -> dict[tuple[str, str], dict[str, str]]:
    """The study's rows over all kinds and domains, by what and texts."""
    with (ROOT / "studies/planted/table.csv").open(encoding="utf-8", newline="") as file:
        return {
            (line["what"], line["texts"]): line
            for line in csv.DictReader(file)
            if (line["kind"], line["domain"]) == ("all", "all")
        }


def test_false_alarms_and_scitab() -> None:
    alarms = [line for (what, _), line in planted().items() if what == "false alarms"]
    assert sum(int(line["count"]) for line in alarms) == 0
    says(f"none of {sum(int(line['of']) for line in alarms):,} claims without a planted error")
    study = (ROOT / "studies/scitab/table.md").read_text(encoding="utf-8").splitlines()
    names = ("the audit", "people", "GPT-4", "supports", "refutes", "not enough info")
    lines = [line for line in study if line.startswith(tuple(f"| {name}" for name in names))]
    assert len(lines) == len(names)
    assert set(lines) <= set(PAGE.splitlines())


SEARCHED = {"closed book": "closed book", "RAG, one look": "input RAG"} | {
    "paper, 100 %, m = 1": "paper 100 %, m = 1",
    "RAG by looks": "RAG by looks",
    "grounded": "grounded",
}


@pytest.mark.parametrize("line", SEARCHED)
def test_where_one_look_cannot_answer(tables: Tables, line: str) -> None:
    found = [recipes(tables[domain])[SEARCHED[line]] for domain in SEARCH]
    assert {one.questions for one in found} == {5}
    prices = (span([one.value(of) for one in found], 1) for of in ("calls", "simulator_runs"))
    worth = [f"{one.value(of):.2f}" for of in ("factuality", "completeness") for one in found]
    shows(line, *prices, *worth)


def test_what_a_further_look_added(tables: Tables) -> None:
    shows("share true", *(less(tables[domain], "input_rag", "factuality") for domain in SEARCH))
    where = {"method": "grounded", "baseline": "input_rag", "undecided": "excluded"}
    where |= {"unit": "difference"}
    found = [tables[domain].one("comparisons", "factuality", **where) for domain in SEARCH]
    (urban, one, other), (holm, *both) = (
        [f"{one.more[of]:.2f}" for one in found if one is not None] for of in ("p", "p_holm")
    )
    assert (one, both[0]) == (other, both[1])
    says(f"p is {urban} in urban and {one} in climate and epidemiology")
    says(f"({holm} and {both[0]} after Holm's correction)")


@pytest.mark.parametrize("line", RECIPES)
def test_the_published_questions(tables: Tables, line: str) -> None:
    """Together: true claims of all questions by all that are decided, no mean of shares."""
    found = [recipes(tables[domain]) for domain in PUBLISHED]
    together = {one.name: one for one in pooled([list(one.values()) for one in found])}
    assert together[RECIPES[line]].questions == 12
    values = [*(one[RECIPES[line]] for one in found), together[RECIPES[line]]]
    shows(line, *(f"{one.value('factuality'):.2f}" for one in values))


@pytest.mark.parametrize(
    ("claims", "level"), [("all", "all"), ("with a number", "number"), ("without", "other")]
)
def test_what_ranks_claims_before_verification(
    tables: Tables, data: Mapping[str, DomainData], claims: str, level: str
) -> None:
    for name, metric, centrality in (
        ("agreement", "auroc", "closeness"),
        ("stated confidence", "auroc", "verbalized"),
        ("gain", "auroc_gain", "verbalized"),
    ):
        found = [
            tables[domain].one("foresight", metric, level=level, centrality=centrality)
            for domain in OWN
        ]
        if metric == "auroc_gain":
            shows(claims, name, *map(gain, found))
        elif level == "all":
            shows(claims, name, *map(bare, found))
    if level == "all":
        return
    shares = []
    for domain in OWN:
        frame = data[domain].claims.filter(pl.col("label_before").is_in(["true", "false"]))
        kind = [
            label == "true"
            for text, label in zip(frame["text_before"], frame["label_before"], strict=True)
            if bool(numbers(text)) == (level == "number")
        ]
        shares.append(f"{sum(kind) / len(kind):.2f}")
    shows(claims, "share true", *shares)


def bare(found: Measurement | None) -> str:
    """Write a value without its interval."""
    return interval(found, places=3).partition(" ")[0]


@pytest.mark.parametrize("method", ["random", "verbalized", "uncertainty", "ue_sba"])
def test_claims_at_a_quarter_verified(tables: Tables, method: str) -> None:
    names = {"random": "Random", "verbalized": "Verbalized", "uncertainty": "Uncertainty"}
    where = {"budget_percent": 25, "centrality": "closeness"}
    of = {"method": method, "undecided": "excluded"}
    found = [tables[domain].one("claims", "auroc", **of, **where) for domain in OWN]
    shows(names.get(method, "UE+SBA"), *map(bare, found))
    if method == "ue_sba":
        return
    kinds = {"excluded": "left out", "false": "counted as false"}
    for undecided in kinds if method == "random" else ["excluded"]:
        of = {"method": "ue_sba", "baseline": method, "undecided": undecided, "unit": "difference"}
        found = [tables[domain].one("comparisons", "auroc", **of, **where) for domain in OWN]
        shows(names[method], kinds[undecided], *map(gain, found))


def attributed(rooms: Tables, metric: str, *marks: str, **where: str) -> list[Measurement]:
    """What chances say of the statements with these marks, a row a domain and mark."""
    return [
        one
        for domain in OWN
        for one in rooms[f"attribution-{domain}"].rows("attribution", metric, **where)
        if one.more.get("standing") in marks
    ]


def count(found: Sequence[Measurement]) -> str:
    """Write "113 of 114" from shares and their sizes."""
    share = sum((one.value or 0) * (one.n or 0) for one in found)
    return f"{share:.0f} of {sum(one.n or 0 for one in found)}"


def test_what_statements_stand_on(rooms: Tables) -> None:
    judgement, beyond, checked = (
        attributed(rooms, "stands_on", mark, level="simulator")
        for mark in ("judgement", "beyond", "checked")
    )
    shows("checked", *(f"{interval(one, places=2)} of {one.n}" for one in checked))
    assert (count(judgement), count(beyond)) == ("1 of 21", "0 of 87")
    says("one of 21 judgements, none of the 87 statements beyond it")


def test_where_the_audit_and_chances_agree(rooms: Tables) -> None:
    no_run = attributed(rooms, "agrees", "judgement", "not_run", "beyond")
    says(f"{count(no_run)} statements that no run decides")
    says(f"{count(attributed(rooms, 'agrees', 'checked'))} checked ones")
    assert count(attributed(rooms, "agrees", "corrected")) == "1 of 2"
    largest = [rooms[f"planted-{domain}"].one("planted", "largest_is_planted") for domain in OWN]
    urban, *others = (one for one in largest if one is not None)
    says(f"{interval(urban, places=2)} of {urban.n} statements in urban")
    assert {one.value for one in others} == {1.0}
    says(f"for all {sum(one.n or 0 for one in others)} elsewhere")


@pytest.mark.parametrize(
    ("score", "metric", "baseline"),
    [
        ("specificity of magnitude", "specificity_magnitude", "closed book"),
        ("evidence used", "evidence_used", "RAG"),
        ("evidence used", "evidence_used", "closed book"),
        ("same claims, reworded", "same_claims", "RAG"),
        ("same tool calls, reworded", "same_calls", "RAG"),
    ],
)
def test_scores_without_a_reference(rooms: Tables, score: str, metric: str, baseline: str) -> None:
    of = {"method": "grounded", "baseline": {"RAG": "rag_looks"}.get(baseline, "closed_book")}
    found = [rooms[f"score-{domain}"].one("score", metric, **of) for domain in OWN]
    shows(score, baseline, *(gain(one, places=2) for one in found))


@pytest.mark.parametrize(
    ("form", "right", "metric"),
    [
        ("choice", "the right option is chosen", "accuracy"),
        ("freeform", "each number is right at the reference's rounding", "number"),
        ("cloze", "the term is the same", "exact"),
    ],
)
def test_questions_by_form(rooms: Tables, form: str, right: str, metric: str) -> None:
    forms = rooms["forms-urban-search"]
    found = [
        forms.one("forms", metric, level="overall", method=of) for of in ("nothing", "simulator")
    ]
    shown = [interval(one, places=2) for one in found]
    shows(form, right, *{str(one.n) for one in found if one is not None}, *shown)


def test_how_many_questions_by_form_were_refused(replayed: Replayed) -> None:
    summary = replayed.results.data / "forms" / "urban-search" / "summary.json"
    (counts,) = json.loads(summary.read_text(encoding="utf-8"))
    says(f"{counts['accepted']} questions from the runs of `urban-search`")
    says(f"The audit refused {counts['rejected']} further ones")


def test_tasks_without_an_error(rooms: Tables, replayed: Replayed) -> None:
    forms = rooms["forms-climate-laboratory"]
    for name, metric in (("textbook choices", "accuracy"), ("clozes", "exact")):
        one = forms.one("forms", metric, level="overall", method="nothing")
        assert one is not None
        says(f"{(one.value or 0) * (one.n or 0):.0f} of {one.n} {name}")
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for domain in OWN:
        file = replayed.results.metrics / f"routing-{domain}.json"
        for kind, found in json.loads(file.read_text(encoding="utf-8")).items():
            name = "near" if kind in ("out_of_range", "not_returned") else kind
            right[name] += found.get("right", 0)
            total[name] += found.get("right", 0) + found.get("wrong", 0)
    says(f"right simulator for {right['own']} of {total['own']} own questions")
    says(f"{right['none']} of {total['none']} questions that no simulator answers")
    says(f"{right['near']} of {total['near']} near misses")


def test_the_recording_counts_its_replies() -> None:
    page = (ROOT / "data/recorded/RECORDED.md").read_text(encoding="utf-8")
    counts: dict[str, list[int]] = {}
    for file in sorted((ROOT / "data/recorded").glob("*.parquet")):
        replies = pl.read_parquet(file).filter(pl.col("kind") == "model")
        kind = re.split("[_-]", file.stem)[0]
        total = counts.setdefault(kind, [0, 0])
        total[0] += len(replies)
        total[1] += int((replies["context"] != "").sum())
    for kind, (replies, named) in counts.items():
        assert f"| {kind} | {replies:,} | {named} |" in page


@pytest.mark.parametrize("domain", [*OWN, *PUBLISHED])
def test_only_the_published_questions_were_answered_by_an_oracle(
    tables: Tables, domain: str
) -> None:
    found = tables[domain]
    assert found.oracle == (domain in PUBLISHED)
    assert found.count("with_evidence") == found.count("completed")
