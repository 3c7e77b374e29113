"""What the audit makes of planted errors: ``python -m studies.planted [--record]``.

Replays recorded.parquet and writes table.md and table.csv beside it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flows.files import read_records, write_text
from simulrag.marks import places_of
from simulrag.method.numbers import numbers
from simulrag.records import Audit, AuditedClaim
from studies.audits import AuditedText, audit_texts, markdown, run_study, wilson
from studies.planted.make import DOMAINS, FOLDER, PlantedText
from studies.planted.plants import SETS, Plant
from studies.planted.sites import DOWN, NUMBER, UP, sentences

UNTOUCHED = "untouched"


class Read(NamedTuple):
    """A text with its audit. ``plants`` are empty in an untouched one."""

    name: str
    domain: str
    set: str
    audit: Audit
    plants: tuple[Plant, ...] = ()

    def claims(self, stretches: Sequence[tuple[int, int]]) -> list[AuditedClaim]:
        """The claims whose quote touches one of some stretches of the text."""
        places = places_of([claim.quote for claim in self.audit.claims], self.audit.text)
        return [
            claim
            for claim, place in zip(self.audit.claims, places, strict=True)
            if place and any(place[0] < end and start < place[1] for start, end in stretches)
        ]

    def verdict(self, plant: Plant) -> tuple[bool, bool]:
        """Whether an error is called wrong, and whether it is put right."""
        wrong = [claim for claim in self.claims([span(plant)]) if claim.status == "wrong"]
        return bool(wrong), any(is_corrected(plant, claim.correction) for claim in wrong)

    def untouched(self) -> list[AuditedClaim]:
        """The claims that touch no sentence with an error."""
        starts = [plant.start for plant in self.plants]
        spoilt = [
            (start, end)
            for start, end in sentences(self.audit.text)
            if any(start <= at < end for at in starts)
        ]
        touching = self.claims(spoilt)
        return [claim for claim in self.audit.claims if claim not in touching]


def is_corrected(plant: Plant, correction: str) -> bool:
    """Whether a correction says the right value, class or direction of a planted error."""
    words = set(re.findall(r"\w+", correction.casefold()))
    ways = {way for way, names in (("+", UP), ("-", DOWN)) if words & set(names)}
    right_way = "+" if plant.value > 0 else "-"
    if plant.kind == "direction":
        signs = {match[1] for match in NUMBER.finditer(correction) if match[1]}
        return (ways or signs) == {right_way}
    if not re.search(r"\d", plant.before):
        right, wrong = (text.removeprefix("a ") for text in (plant.before, plant.after))
        named = [re.search(rf"\b{re.escape(text)}\b", correction, re.I) for text in (right, wrong)]
        return named[0] is not None and named[1] is None
    (before,) = numbers(plant.before.lstrip("+-"))
    return any(
        number.states(plant.value)
        and number.half_unit <= before.half_unit
        and (plant.kind != "sign" or match[1] == right_way or (not match[1] and right_way in ways))
        for match in NUMBER.finditer(correction)
        for number in numbers(match[2])
    )


def counts(texts: Sequence[Read]) -> Iterator[tuple[str, str, str, str, int, int]]:
    """Count errors found and corrected, by kind and by domain, and false alarms.

    Rows: what, the set, the kind, the domain ("all": any), how many of how many.
    """
    for name, kinds in SETS.items():
        groups = [(kind, "all") for kind in kinds] + [("all", domain) for domain in DOMAINS]
        for kind, domain in [*groups, ("all", "all")]:
            verdicts = [
                text.verdict(plant)
                for text in texts
                for plant in text.plants
                if text.set == name and kind in ("all", plant.kind)
                if domain in ("all", text.domain)
            ]
            for at, what in enumerate(("found", "corrected")):
                yield what, name, kind, domain, sum(item[at] for item in verdicts), len(verdicts)
    for name in (UNTOUCHED, *SETS):
        for domain in (*DOMAINS, "all"):
            of = [t for t in texts if t.set == name and domain in ("all", t.domain)]
            status = [claim.status for text in of for claim in text.untouched()]
            yield "false alarms", name, "all", domain, status.count("wrong"), len(status)


def words(claim: AuditedClaim) -> str:
    """What the audit says of a claim."""
    return f'{claim.status} "{claim.quote}"' + (claim.correction and f"; {claim.correction}")


def span(plant: Plant) -> tuple[int, int]:
    """Where a planted error stands."""
    return plant.start, plant.start + len(plant.after)


def page(texts: Sequence[Read], rows: Sequence[tuple[str, str, str, str, int, int]]) -> str:
    """Write the counts as a Markdown table, with each error that was missed and each alarm."""
    table: list[tuple[str, ...]] = [
        ("what", "texts", "kind", "domain", "count", "of", "share [95 %]")
    ]
    for row in rows:
        low, high = wilson(*row[4:])
        share = f"{row[4] / row[5]:.2f} [{low:.2f}, {high:.2f}]" if row[5] else "-"
        table.append((*map(str, row), share))
    sizes = [f"{sum(text.set == name for text in texts)} {name}" for name in (UNTOUCHED, *SETS)]
    missed = [
        f"- {text.name}, {plant.kind}: `{plant.before}` -> `{plant.after}`; the audit: "
        + ("; ".join(map(words, text.claims([span(plant)]))) or "no claim")
        for text in texts
        for plant in text.plants
        if not all(text.verdict(plant))
    ]
    alarms = [
        f"- {text.set} {text.name}: {words(claim)}"
        for text in texts
        for claim in text.untouched()
        if claim.status == "wrong"
    ]
    parts = [
        "# Planted errors and the audit",
        f"Texts: {', '.join(sizes)}. Found: a claim called wrong touches the error; corrected: its "
        "correction says the right value. False alarms: claims called wrong in untouched texts and "
        "in sentences without an error. Intervals: Wilson's, as if errors and claims of one text "
        "were independent; agreeing errors count at both places. What is where: "
        "[plants.jsonl](plants.jsonl); a text that admits no error of a set is not in it. Audits "
        "of untouched texts are the recorded run's, by others than those who read the errors.",
        markdown(*table),
        "Missed, or not put right:",
        "\n".join(missed) or "none",
        "False alarms:",
        "\n".join(alarms) or "none",
    ]
    return "\n\n".join(parts) + "\n"


def read_audits(*, record: bool = False) -> list[Read]:
    """Audit the untouched texts, then those with errors."""
    texts = read_records(FOLDER / "texts.jsonl", AuditedText)
    planted = read_records(FOLDER / "plants.jsonl", PlantedText)
    by_name = {text.name: text for text in texts}
    spoilt = [by_name[item.question_id].model_copy(update={"text": item.text}) for item in planted]
    audits = audit_texts("planted", [*texts, *spoilt], record=record)
    pairs = zip(texts, audits, strict=False)
    untouched = [Read(text.name, text.domain, UNTOUCHED, audit) for text, audit in pairs]
    rows = zip(spoilt, planted, audits[len(texts) :], strict=True)
    read = [Read(text.name, text.domain, item.set, done, item.plants) for text, item, done in rows]
    return untouched + read


def main(record: bool) -> None:
    """Write the tables."""
    texts = read_audits(record=record)
    rows = list(counts(texts))
    lines = ["what,texts,kind,domain,count,of,lower_95,upper_95"]
    for row in rows:
        lines.append(",".join([*map(str, row), *(f"{end:.4f}" for end in wilson(*row[4:]))]))
    write_text(FOLDER / "table.csv", "\n".join(lines) + "\n")
    write_text(FOLDER / "table.md", page(texts, rows))


if __name__ == "__main__":
    sys.exit(run_study("studies.planted", main))
