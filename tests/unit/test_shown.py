"""How answers are shown: words and signs of standings, the marked text, a notebook's view."""

from __future__ import annotations

from typing import get_args

import pytest
from lxml import html

from simulrag.library import AnswerNow
from simulrag.marks import WEAKEST_FIRST
from simulrag.records import Answer, MissingPoint, Standing, Statement
from simulrag.shown import (
    COLOURS,
    STANDINGS,
    Ending,
    as_html,
    counted,
    is_marked,
    left_out,
    legend,
    pieces,
    readable,
    run_words,
    statement_words,
    without_place,
)
from tests.making import answer, claim, evidence
from tests.unit.report.made import HOSTILE, every_standing, grounded_answer

ADDED = Statement(text="It is 136 s.", standing="added", runs=(0,))
MISSING = (MissingPoint(text="The queue is 40 vehicles.", runs=(0, 2)),)


def test_every_standing_has_words_a_sign_and_a_colour() -> None:
    assert set(STANDINGS) == set(get_args(Standing))
    assert all(one.words and len(one.sign) == 1 for one in STANDINGS.values())
    assert {one.colour for one in STANDINGS.values()} <= set(COLOURS)
    signs = [STANDINGS[standing].sign for standing in WEAKEST_FIRST]
    assert len(set(signs)) == len(signs) == 7


@pytest.mark.parametrize("colour", COLOURS.values())
def test_colours_are_legible_on_white(colour: str) -> None:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in shares]
    luminance = sum(x * weight for x, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))
    assert 1.05 / (luminance + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (Statement(text="A.", standing="checked", runs=(1,)), "checked by run 2"),
        (Statement(text="A.", standing="checked", runs=(0, 2)), "checked by runs 1 and 3"),
        (
            Statement(text="A.", standing="corrected", runs=(0,), before="B."),
            "corrected by run 1 (said: B.)",
        ),
        (ADDED, "added from run 1"),
        (
            Statement(text="A.", standing="wrong", runs=(0,), correction="B."),
            "wrong by run 1: it says B.",
        ),
        (
            Statement(text="A.", standing="wrong", runs=(0, 1), correction="B."),
            "wrong by runs 1 and 2: they say B.",
        ),
        (Statement(text="A.", standing="judgement"), "a judgement: no run decides it"),
        (Statement(text="A.", standing="not_run"), "not run: a further run could decide it"),
        (Statement(text="A.", standing="beyond"), "beyond the simulator"),
        (Statement(text="A.", standing="corrected"), "corrected"),
    ],
)
def test_what_stands_behind_a_statement_in_words(statement: Statement, words: str) -> None:
    assert statement_words(statement) == words


def test_runs_are_numbered_from_1() -> None:
    assert [run_words(runs) for runs in ((0,), (0, 2), (0, 1, 4))] == [
        "run 1",
        "runs 1 and 3",
        "runs 1, 2 and 5",
    ]


def test_pieces_are_the_text_with_a_sign_behind_the_last_words_of_each_quote() -> None:
    shown = every_standing()
    found = pieces(shown.text, shown.final.statements)
    assert "".join(piece.text for piece in found) == shown.text
    rises, significant, dot, *_ = found
    # Two quotes begin with these words: the weaker one gives the colour, each ends by itself.
    assert (rises.standing, rises.runs) == ("judgement", (0,))
    assert rises.words == "◇ a judgement: no run decides it\n✎ corrected by run 1 (said: It falls.)"
    assert rises.endings == (Ending("corrected", (0,)),)
    assert (significant.text, significant.endings) == (
        ", which is significant",
        (Ending("judgement", ()),),
    )
    assert (dot.standing, dot.words, dot.endings) == (None, "", ())


def test_quotes_that_end_together_share_a_sign() -> None:
    said = [Statement(text=words, standing="checked", runs=(run,)) for words, run in ("A1", "B0")]
    (piece,) = pieces(
        "It rises.", grounded_answer("It rises.", said, ["It rises."] * 2).final.statements
    )
    assert piece.endings == (Ending("checked", (0, 1)),)
    assert piece.words == "✓ checked by run 2\n✓ checked by run 1"


def test_the_legend_and_the_counts_name_only_what_occurs() -> None:
    statements = [ADDED, ADDED, Statement(text="A.", standing="not_run")]
    assert legend(statements) == [
        ("added", "added from a run"),
        ("not_run", "not run: a further run could decide it"),
    ]
    assert counted(statements) == "2 added, 1 not run"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (grounded_answer("It rises.", [], missing=MISSING), MISSING),
        (grounded_answer("It rises.", [ADDED], missing=MISSING), ()),
        (grounded_answer("It rises.", [], runs=[]), ()),
        (answer(), ()),
    ],
)
def test_what_is_missing_is_told_unless_it_was_added(
    shown: Answer, expected: tuple[MissingPoint, ...]
) -> None:
    assert left_out(shown) == expected


def test_a_mended_text_misses_nothing() -> None:
    shown = grounded_answer("It rises.", [], missing=MISSING)
    mended = shown.final.model_copy(update={"text": "It rises by 12.5 percent."})
    assert left_out(shown.model_copy(update={"final": mended})) == ()


def test_a_notebook_shows_the_marked_text_and_a_mark_leads_to_its_run() -> None:
    page = html.fromstring(as_html(every_standing(), "By hand."))
    text = page.xpath("./p[1]")[0]
    assert text.text_content().startswith(
        "Mean travel time rises by 12.5 percent\u202f✎1, which is significant\u202f◇. At the peak"
    )
    assert "136 s\u202f✓1,2, up from 121 s. " in text.text_content()
    mark = text.xpath("./a[starts-with(., 'Speed')]")[0]
    assert mark.get("title") == "⊕ added from run 2"
    (run,) = page.xpath(f"//*[@id='{mark.get('href')[1:]}']")
    assert "Peak: 136 s." in run.text_content()
    assert run.getparent().findtext("summary") == "Run 2: urban.compare_with_baseline"
    assert [link.get("href")[:6] for link in text.xpath("./sup[2]/a | ./sup[3]/a")] == [
        "#run-1",
        "#run-2",
    ]
    assert text.xpath("./span[. = 'residents may complain']/@title") == ["∅ beyond the simulator"]
    assert [item.text_content() for item in page.xpath(".//li")] == [
        "The effect holds all day. ✓ [checked by run 2]",
        "Noise falls. ∅ [beyond the simulator]",
    ]
    assert "✗ wrong by a run" in page.xpath("string(./p[2])")
    assert not page.xpath(".//table")


def test_a_notebook_says_what_a_corrected_statement_said() -> None:
    page = html.fromstring(as_html(every_standing(), ""))
    (said,) = [one for one in page.xpath(".//p/small") if "It said: " in one.text_content()]
    corrected = [item for item in every_standing().final.statements if item.before]
    assert all(str(item.before) in said.text_content() for item in corrected[:1])


def test_two_answers_of_one_notebook_have_runs_of_their_own() -> None:
    said = [Statement(text="A.", standing="checked", runs=(0,))]
    both = [as_html(grounded_answer(text, said, [text]), "") for text in ("It rises.", "It falls.")]
    ids = [html.fromstring(one).xpath(".//pre/@id") for one in both]
    assert ids[0] != ids[1]


def test_a_notebook_shows_what_the_text_lacks() -> None:
    page = html.fromstring(as_html(grounded_answer("It rises.", [], missing=MISSING), ""))
    assert page.xpath("string(.//li)") == "The queue is 40 vehicles. (runs 1 and 3)"
    assert "The runs say as well:" in page.text_content()


def test_a_notebook_says_that_nothing_was_run() -> None:
    shown = grounded_answer("Nobody can say.", [], runs=[], verified=False)
    page = html.fromstring(as_html(shown, ""))
    assert page.xpath("string(./p[1])") == shown.text
    assert "Unverified: no tool applies and nothing was run." in " ".join(
        page.text_content().split()
    )


def test_hostile_text_stays_text_in_a_notebook() -> None:
    said = [Statement(text=HOSTILE, standing="corrected", before=HOSTILE, runs=(0,))] * 2
    shown = as_html(grounded_answer(HOSTILE, said, [HOSTILE], [HOSTILE], missing=MISSING), HOSTILE)
    assert "<script" not in shown
    assert "<img" not in shown


def test_claims_are_shown_where_there_are_some() -> None:
    page = html.fromstring(as_html(answer(claims=(claim(),)), ""))
    assert len(page.xpath(".//tbody/tr")) == 1
    assert page.xpath("string(./p[1])") == answer().text
    assert not html.fromstring(as_html(answer(), "")).xpath(".//table")


def test_what_an_answer_took_counts_its_statements() -> None:
    shown = AnswerNow(**dict(every_standing()))
    assert is_marked(shown)
    assert len(without_place(shown)) == 2
    assert (
        "simulator runs, 9 statements: 2 checked, 1 corrected, 1 added, 1 wrong, 1 not run, "
        "1 judgement, 2 beyond: Mean travel"
    ) in repr(shown)
    alone = AnswerNow(**dict(grounded_answer("Nobody can say.", [], runs=[])))
    assert "simulator runs, no statement checked: Nobody" in repr(alone)
    assert "from 0 claims" in repr(AnswerNow(**dict(answer())))


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        (
            {"scenario_co2_mg": 35788556.09, "nox_mg": 14001.58, "fuel_ml": 15999.34},
            "In other units: scenario co2 35.8 kg, nox 14 g, fuel 16 l.",
        ),
        ({"saved_mg": -2.0e6}, "In other units: saved -2 kg."),
        ({"co2_mg": 999.0, "delay_s": 1e9, "note_mg": "12000"}, ""),
    ],
)
def test_large_outputs_are_repeated_in_units_that_people_read(
    outputs: dict[str, float | str], said: str
) -> None:
    assert readable(evidence(outputs=outputs)) == said
