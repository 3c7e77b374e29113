"""What the metrics stage reads from files, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.files import write_records, write_table
from flows.project import Results
from flows.stages.metrics import read_domain, write_metrics
from simulrag.errors import InputError
from simulrag.method.settings import ClaimsPerCall, MethodSettings
from simulrag.metrics.table import read_table, select
from simulrag.records import Label
from tests.unit.metrics.measuring import FAST
from tests.unit.metrics.people import given
from tests.unit.metrics.synthetic import study

METHOD = MethodSettings()


@pytest.fixture
def place(tmp_path: Path) -> Results:
    """The outs of a domain, and of another one."""
    made = Results(tmp_path)
    for domain in ("urban", "climate"):
        data = study(4, domain=domain)
        write_records(made.benchmark(domain), data.questions)
        write_records(made.answers(domain), data.answers)
        write_table(made.labels(domain), data.labels, Label)
        write_records(made.final_claims(domain), data.finals)
    return made


def test_a_domain_is_measured_by_itself(place: Results) -> None:
    first = write_metrics(place, read_domain(place, "urban", FAST, METHOD))
    files = ("urban.csv", "urban-claims.parquet", "urban-finals.parquet")
    written = [(place.metrics / name).read_bytes() for name in files]
    assert json.loads((place.metrics / "urban.json").read_text()) == first
    write_metrics(place, read_domain(place, "climate", FAST, METHOD))
    write_metrics(place, read_domain(place, "urban", FAST, METHOD))
    assert [(place.metrics / name).read_bytes() for name in files] == written
    climate = read_table(place.metrics / "climate.csv")
    assert climate["domain"].unique().to_list() == ["climate"]


def test_what_a_method_costs_follows_how_the_answers_were_made(place: Results) -> None:
    method = MethodSettings(claims_per_call=ClaimsPerCall(verify=3))
    data = read_domain(place, "urban", FAST, method)
    assert data.claims_per_call.verify == 3


def test_labels_by_people_count_in_their_own_domain(place: Results) -> None:
    question = study(4).labels[0].question_id
    text = next(
        claim.text
        for answer in study(4).answers
        if answer.question_id == question
        for claim in answer.claims
    )
    elsewhere = given("ann", "true", "Of another run.", "gone-7")
    write_records(place.human_labels, [given("ann", "false", text, question), elsewhere])
    for domain, count in (("urban", 1), ("climate", 0)):
        data = read_domain(place, domain, FAST, METHOD)
        assert len(data.settled) == count
        write_metrics(place, data)
        agreement = select(read_table(place.metrics / f"{domain}.csv"), family="agreement")
        assert agreement.is_empty() == (count == 0)


def test_a_broken_file_is_named(place: Results) -> None:
    with place.answers("urban").open("a") as file:
        file.write('{"question_id": 3}\n')
    with pytest.raises(InputError, match=r"urban\.jsonl:5: "):
        read_domain(place, "urban", FAST, METHOD)
    place.labels("climate").write_text("nonsense")
    with pytest.raises(InputError, match=r"climate\.parquet is not a table of labels"):
        read_domain(place, "climate", FAST, METHOD)
    place.labels("climate").unlink()
    with pytest.raises(InputError, match="is not there; run `simulrag run`"):
        read_domain(place, "climate", FAST, METHOD)
