"""A text mended: what is kept to the letter, what goes, and where the changes stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulrag.calls import CallCache
from simulrag.errors import ReplyInvalid
from simulrag.method.audit import Mended, Mending, kept_quotes, mend_text
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.settings import ModelSettings
from simulrag.records import Audit, AuditedClaim, MissingPoint
from simulrag.stand_in import Prompted
from simulrag.task import without_model
from simulrag.testing import ScriptedModel

TEXT = "It is 12 m deep and 5 ha wide, so it is large."


def right(quote: str) -> AuditedClaim:
    return AuditedClaim(quote=quote, claim=quote, status="supported", runs=(0,))


def wrong(quote: str, says: str) -> AuditedClaim:
    return AuditedClaim(quote=quote, claim=quote, status="wrong", runs=(0,), correction=says)


def audit(*claims: AuditedClaim, missing: tuple[str, ...] = (), text: str = TEXT) -> Audit:
    lacking = tuple(MissingPoint(text=one, runs=(0,)) for one in missing)
    return Audit(text=text, claims=claims, missing=lacking)


DEEP, WIDE = right("12 m deep"), wrong("5 ha", "7 ha")
GOOD = "It is 12 m deep and 7 ha wide, so it is large."


def reply(text: str, *places: tuple[int, str]) -> dict[str, object]:
    return {"text": text, "places": [{"change": n, "quote": quote} for n, quote in places]}


async def mended(found: Audit, said: dict[str, object]) -> Mended:
    return await mend_text("q?", found, ScriptedModel(said))


def words(found: Mended) -> tuple[list[str], list[str]]:
    """The text's own words at the places of corrections and of what was missing."""
    cut = [[found.text[slice(*one)] for one in part] for part in (found.corrected, found.added)]
    return cut[0], cut[1]


async def test_changes_stand_at_the_places_that_the_reply_names_in_any_order() -> None:
    given = audit(DEEP, WIDE, wrong("large", "small"), missing=("It is cold.",))
    text = "It is 12 m deep and 7 ha wide, so it is small.  It is\ncold."
    places = [(3, "It is cold."), (1, "7 ha"), (2, "so it is small")]
    found = await mended(given, reply(text, *places))
    assert found.text == text
    assert words(found) == (["7 ha", "so it is small"], ["It is\ncold."])


async def test_what_is_missing_alone_is_added() -> None:
    given = audit(DEEP, missing=("It is cold.",))
    found = await mended(given, reply(TEXT + " It is cold.", (1, "It is cold")))
    assert words(found) == ([], ["It is cold"])


async def test_two_changes_of_the_same_words_have_two_places() -> None:
    text = "In May it is 5 m, in June 5 m."
    given = audit(wrong("5 m,", "7 m"), wrong("June 5 m", "7 m"), text=text)
    found = await mended(given, reply("In May it is 7 m, in June 7 m.", (1, "7 m"), (2, "7 m")))
    assert found.corrected == ((13, 16), (26, 29))


async def test_a_change_to_words_that_stand_there_already_has_its_own_place() -> None:
    """The first 7 m is right, and stays what it was."""
    text = "In May it is 7 m, in June 5 m."
    given = audit(right("7 m"), wrong("5 m", "7 m"), text=text)
    found = await mended(given, reply("In May it is 7 m, in June 7 m.", (1, "7 m")))
    assert found.corrected == ((26, 29),)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (reply(GOOD), "places: give each change, 1 to 1, exactly once"),
        (reply(GOOD, (1, "7 ha"), (1, "7 ha")), "places: give each change, 1 to 1"),
        (reply(GOOD, (1, "7 ha"), (2, "large")), "places: give each change, 1 to 1"),
        (reply(GOOD, (0, "7 ha")), "places: give each change, 1 to 1"),
        (reply(GOOD, (1, "8 ha")), "place of change 1: your text does not have these words: 8 ha"),
        (reply(GOOD, (1, ".*")), "place of change 1: your text does not have these words"),
        (reply("It is 7 ha wide.", (1, "7 ha")), "keep these words exactly: 12 m deep"),
        (reply("It is 12.0 m deep, 7 ha.", (1, "7 ha")), "keep these words exactly: 12 m deep"),
        (reply(TEXT + " 7 ha.", (1, "7 ha")), "these words are wrong and stand there still: 5 ha"),
        (reply("", (1, "7 ha")), "at least 1 character"),
    ],
)
async def test_a_mended_text_that_cannot_be_is_refused(
    said: dict[str, object], problem: str
) -> None:
    with pytest.raises(ReplyInvalid) as raised:
        await mended(audit(DEEP, WIDE), said)
    assert problem in str(raised.value)


async def test_one_repair_names_every_fault(tmp_path: Path) -> None:
    settings = ModelSettings(provider="scripted", model="scripted")
    bad, good = reply("It is 5 ha wide.", (2, "x")), reply(GOOD, (1, "7 ha"))
    with CallCache(tmp_path, stage="test") as cache:
        model = ScriptedModel(json.dumps(bad), json.dumps(good))
        found = await mend_text(
            "How deep?", audit(DEEP, WIDE), Gateway(model, settings, cache, packaged_prompts())
        )
    assert found.text == GOOD
    first, repair = model.sent
    assert '1. wrong: "5 ha"; right: 7 ha' in first[-1].content
    assert "<keep>\n- 12 m deep\n</keep>" in first[-1].content
    for fault in ("exactly once", "change 2", "keep these words", "stand there still: 5 ha"):
        assert fault in repair[-1].content


@pytest.mark.parametrize(
    ("quote", "says", "text", "new", "place"),
    [
        # What is right contains the wrong words, as a part of longer ones.
        ("5 %", "15 %", "It falls by 5 %.", "It falls by 15 %.", "15 %"),
        ("5 %", "-5 %", "It changes by 5 %.", "It changes by -5 %.", "-5 %"),
        ("5", "5.4", "About 5 days.", "About 5.4 days.", "5.4"),
        ("minor", "a minority", "That is minor.", "That is a minority.", "a minority"),
        # One of two occurrences was right.
        ("5 m", "7 m", "Here 5 m, there 5 m.", "Here 5 m, there 7 m.", "7 m"),
        # Words for a regular expression.
        ("(5+)", "(6+)", "Level (5+).", "Level (6+).", "(6+)"),
        # No place in the text at all: nothing is there to go.
        ("about 9 m", "7 m", "It is deep.", "It is 7 m deep.", "7 m"),
    ],
)
async def test_wrong_words_may_stand_where_they_say_something_else(
    quote: str, says: str, text: str, new: str, place: str
) -> None:
    found = await mended(audit(wrong(quote, says), text=text), reply(new, (1, place)))
    assert words(found) == ([place], [])


async def test_wrong_words_that_say_the_same_twice_go_once_at_least() -> None:
    given = audit(wrong("5 m", "7 m"), text="Here 5 m, there 5 m.")
    with pytest.raises(ReplyInvalid, match="stand there still: 5 m"):
        await mended(given, reply("Here 5 m, there 5 m, or 7 m.", (1, "7 m")))


def test_quotes_that_a_wrong_one_overlaps_need_not_stay() -> None:
    claims = [
        right("12 m deep and 5 ha wide"),  # the wrong one is inside it
        right("ha wide"),  # overlaps its end
        right(" wide,"),  # begins where it ends
        right("12 m deep"),
        right("12 m  deep"),  # other white space: words of its own
        right("12 m deep"),  # once more
        right("not in the text"),
        AuditedClaim(quote="large", claim="It is large.", status="open"),
        wrong("5 ha", "7 ha"),
        wrong("nowhere", "7 ha"),
    ]
    assert kept_quotes(audit(*claims)) == [" wide,", "12 m deep", "12 m  deep"]


async def test_other_white_space_in_what_is_kept_is_no_fault() -> None:
    new = "It is 12 m\ndeep and 7 ha wide."
    assert (await mended(audit(DEEP, WIDE), reply(new, (1, "7 ha")))).text == new


async def test_a_plan_goes_on_with_a_mended_text_that_could_be() -> None:
    given = audit(DEEP, WIDE, missing=("It is cold.",))
    ask = ScriptedModel(by_task=lambda _, shown: stand_in(shown))
    assert words(await mend_text("q?", given, ask)) == (["7 ha"], ["It is cold."])


def stand_in(shown: dict[str, object]) -> object:
    asked = packaged_prompts().render("mend", **shown)
    text = without_model(Prompted(asked, "Mending"), Mending.model_json_schema())
    return Mending.model_validate_json(text)
