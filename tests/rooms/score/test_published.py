"""The published numbers of SCORE (arXiv 2602.10017), recomputed by the project's measures."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from rooms.score.formulas import context_use, detail_shares, specificity, voted
from rooms.score.ratings import fleiss_kappa
from rooms.score.readability import TextCounts, counts, flesch

SHARED = Path(__file__).resolve().parents[3].parent / "shared"
VOTES = SHARED / "score/specificity_gemini_qwen.csv"
PAPER = SHARED / "papers/002_358219e9a7c695dc.txt"
MARKS: dict[Any, Any] = {1: "yes", 0: "no", "n/a": "n/a"}


def marks(text: str) -> list[Any]:
    return [tuple(MARKS[mark] for mark in claim) for claim in json.loads(text)]


@pytest.mark.skipif(not VOTES.is_file(), reason=f"published votes absent: {VOTES.name}")
def test_specificity_of_all_published_answers() -> None:
    csv.field_size_limit(2**24)
    with VOTES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found: list[list[float]] = []
    for row in rows:
        judges = [marks(row[f"agent{judge}_scores"]) for judge in (1, 2, 3)]
        longest = max(map(len, judges))  # one reply in 4,236 left out its last claim
        labels = [judge + [None] * (longest - len(judge)) for judge in judges]
        assert voted(labels) == marks(row["claim_scores"])
        shares = [share for share in detail_shares(labels) if share is not None]
        published = [one for one in json.loads(row["dimension_averages"]) if one != "n/a"]
        assert shares == pytest.approx(published, abs=1e-12)
        scores = [
            specificity(labels, weights, undefined_as_zero=True)
            for weights in ((0.6, 0.2, 0.1, 0.1), (1, 1, 1, 1), (0.4, 0.3, 0.2, 0.1))
        ]
        assert scores[0] == pytest.approx(float(row["final_score"]), abs=1e-12)
        undefined = not shares
        found.append([score for score in scores if score is not None] + [float(undefined)])
    own, equal, other, undefined_share = zip(*found, strict=True)
    assert len(found) == 1412
    assert sum(undefined_share) == 63
    assert (fmean(own), stdev(own)) == pytest.approx((0.4515, 0.2727), abs=5e-5)
    assert (fmean(equal), fmean(other)) == pytest.approx((0.351, 0.409), abs=5e-4)


@pytest.mark.parametrize(
    ("agreed", "mixed", "kappa"),
    [
        ((41, 5, 0), (4, 0, 0), 0.6678),
        ((30, 13, 0), (7, 0, 0), 0.6834),
        ((12, 8, 6), (11, 7, 6), 0.2640),
        ((33, 3, 3), (6, 3, 2), 0.4579),
    ],
)
def test_fleiss_kappa_of_the_annotators(
    agreed: tuple[int, int, int], mixed: tuple[int, int, int], kappa: float
) -> None:
    items = [[2 if at == label else 0 for at in range(3)] for label in range(3)]
    pairs = [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
    counts = [item for item, n in zip(items, agreed, strict=True) for _ in range(n)]
    counts += [pair for pair, n in zip(pairs, mixed, strict=True) for _ in range(n)]
    assert len(counts) == 50
    assert fleiss_kappa(counts) == pytest.approx(kappa, abs=5e-5)


@pytest.mark.parametrize(
    ("n", "full", "total", "use", "percent"),
    [
        (17, 0.236595, 0.072111, 0.004242, 1.792852),
        (23, 0.323703, 0.107273, 0.004664, 1.440840),
        (28, 0.242916, 0.112284, 0.004010, 1.650830),
        (26, 0.302314, 0.342779, 0.013184, 4.360969),
        (46, 0.201188, 0.062225, 0.001353, 0.672363),
    ],
)
def test_published_context_use(
    n: int, full: float, total: float, use: float, percent: float
) -> None:
    found = context_use(full, [full - total / n] * n)
    assert found == pytest.approx((use, percent / 100), abs=5e-7)
    assert math.exp(-1.509765625) == pytest.approx(0.220962, abs=5e-7)


@pytest.mark.parametrize(("fre", "fkgl", "asl", "asw"), [(12.84, 17.8, 25.5, 1.99)])
def test_published_readability_means(fre: float, fkgl: float, asl: float, asw: float) -> None:
    found = flesch(TextCounts(1000, round(1000 * asl), round(1000 * asl * asw)))
    assert found == pytest.approx((fre, fkgl), abs=0.5)


@pytest.mark.skipif(not PAPER.is_file(), reason=f"the paper is absent: {PAPER.name}")
def test_readability_of_the_answer_in_figure_5() -> None:
    assert flesch(TextCounts(14, 282, 555)) == pytest.approx((19.89, 15.49), abs=5e-3)
    text = PAPER.read_text(encoding="utf-8")
    start = text.index("- Given your profession as a Fiber Optics")
    end = text.index("Confidence Score: 85%", start) + len("Confidence Score: 85%")
    found = counts(text[start:end])
    # textstat ends a sentence after "Harou et al."; it takes hyphens away before it counts.
    assert (found.words, found.sentences) == (282, 13)
    assert found.syllables == pytest.approx(555, rel=0.02)
