"""What the metrics stage reads besides answers and labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.files import write_records, write_table
from flows.project import Results
from flows.stages.metrics import measure
from simulrag.metrics.settings import MetricSettings
from simulrag.models.prices import read_prices
from simulrag.records import HumanLabel, Label, claim_hash
from tests.unit.metrics.synthetic import study

PRICES = Path(__file__).resolve().parents[3] / "prices.yaml"
FAST = MetricSettings(bootstrap=100, random_seeds=2)


@pytest.mark.parametrize(
    ("asked", "said"),
    [("urban-001", ""), ("gone-7", "human labels of questions that this run does not have: 1;")],
)
def test_human_labels_of_other_questions_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: str, said: str
) -> None:
    data, place = study(3), Results(tmp_path)
    for path in (place.answers("urban"), place.labels("urban")):
        path.parent.mkdir()
    write_records(place.answers("urban"), data.answers)
    write_table(place.labels("urban"), data.labels, Label)
    write_records(place.final_claims("urban"), data.finals)
    text = data.answers[1].claims[0].text
    human = HumanLabel(
        question_id=asked, claim_hash=claim_hash(text), text=text, label="true", annotator="ann"
    )
    write_records(place.human_labels, [human])
    tables = measure(place, {"urban": list(data.questions)}, FAST, read_prices(PRICES))
    told = " ".join(capsys.readouterr().err.split())
    assert (said in told) if said else not told
    assert tables.human_labels.height == (0 if said else 1)
