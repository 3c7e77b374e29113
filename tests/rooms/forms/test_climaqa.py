"""ClimaQA (arXiv 2410.16701v1): tables recomputed, the worked example, the evaluator's data."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import pytest

from rooms.forms.page import read_published
from rooms.forms.scores import bleu, bleu_char, smoothed

ROOT = Path(__file__).resolve().parents[3]
WORKED = ROOT.parent / "shared/climaqa/worked_example.json"
FEVER = ROOT.parent / "shared/climaqa/climate-fever.jsonl"
TABLES = read_published(ROOT / "data/published")
CHOICES = {"b": 89, "r": 54, "h": 38}
FREEFORM = {"b": 54, "r": 52, "h": 55}
CLOZES = 160
ROUNDED = {"bleu": 0.0005, "bert": 0.0005, "fa": 0.005}


def right(percent: float, questions: int) -> int | None:
    """How many right answers a percentage is of; None where it is of no count."""
    count = round(percent * questions / 100)
    return count if abs(100 * count / questions - percent) <= 0.0051 else None


def as_counts(row: dict[str, str], base: int) -> bool:
    sizes = {**CHOICES, "b": base}
    counts = [right(float(row[f"mcq_{level}"]), size) for level, size in sizes.items()]
    if None in counts:
        return False
    overall = 100 * sum(count or 0 for count in counts) / sum(sizes.values())
    return abs(overall - float(row["mcq_o"])) <= 0.0051


def test_28_of_32_rows_of_table_3_are_counts() -> None:
    assert len(TABLES) == 32
    others = [row for row in TABLES if not as_counts(row, CHOICES["b"])]
    assert len(others) == 4
    assert all(row["model"].startswith("mixtral-8x22b") for row in others)
    assert all(as_counts(row, 87) for row in others)  # two base questions are missing there


def test_all_exact_matches_are_counts() -> None:
    assert [row["model"] for row in TABLES if right(float(row["em"]), CLOZES) is None] == []


@pytest.mark.parametrize("metric", list(ROUNDED))
def test_the_overall_values_of_table_4_are_weighted_by_size(metric: str) -> None:
    """All 96, within what rounding of the four numbers allows."""
    total = sum(FREEFORM.values())
    for row in TABLES:
        mean = sum(float(row[f"{metric}_{k}"]) * n for k, n in FREEFORM.items()) / total
        assert abs(mean - float(row[f"{metric}_o"])) <= 2 * ROUNDED[metric] + 1e-9, row["model"]


@pytest.mark.skipif(not WORKED.is_file(), reason="the worked example is not beside the project")
def test_the_worked_examples_bleu_is_of_characters() -> None:
    example = json.loads(WORKED.read_text(encoding="utf-8"))
    reference = example["reference"]
    for one in example["answers"]:
        assert round(bleu_char(reference, one["answer"]), 3) == one["bleu"]
        assert bleu(reference, one["answer"]) < 0.3
    words = reference.split()
    shuffled = " ".join(sorted(words))
    assert bleu_char(reference, shuffled) > 0.7
    assert bleu(reference, shuffled) < 0.2


@pytest.mark.parametrize(
    ("probability", "value"),
    [
        *((0.5, 0.5), (0.6, 0.5203), (0.9, 0.6081), (0.99, 0.7148), (0.999, 0.7992)),
        *((0.9999, 0.8632), (0.0, 0.0), (1.0, 1.0), (0.999829, 0.85)),
    ],
)
def test_smoothing(probability: float, value: float) -> None:
    assert round(smoothed(probability), 4) == value


@pytest.mark.parametrize(
    ("value", "gap"), [(0.898, 10.9), (0.989, 22.5), (0.967, 16.9), (0.987, 21.7), (0.976, 18.5)]
)
def test_published_values_are_of_saturated_probabilities(value: float, gap: float) -> None:
    """The gap of the labels' log-probabilities that gives a value of the worked example."""
    supports = 1 / (1 + math.exp(-gap))
    assert smoothed(supports) == pytest.approx(value, abs=0.001)


@pytest.mark.skipif(not FEVER.is_file(), reason="CLIMATE-FEVER is not beside the project")
def test_majorities_of_climate_fever() -> None:
    """What an evaluator's 81 % must be read against."""
    claims = [json.loads(line) for line in FEVER.read_text(encoding="utf-8").splitlines()]
    pairs = Counter(one["evidence_label"] for claim in claims for one in claim["evidences"])
    labels = Counter(claim["claim_label"] for claim in claims)
    assert (pairs["SUPPORTS"], pairs["REFUTES"]) == (1943, 802)
    assert (labels["SUPPORTS"], labels["REFUTES"]) == (654, 253)
    for found, share in ((pairs, 0.708), (labels, 0.721)):
        both = found["SUPPORTS"] + found["REFUTES"]
        assert found["SUPPORTS"] / both == pytest.approx(share, abs=0.0005)
