"""``python -m studies.options.samples FOLDER``: what a further sample is worth, without a call.

FOLDER is a project whose own questions were answered with every claim verified. Of its m samples
each subset is taken as if no other had been drawn: claims that no sample of it made are left out,
votes are counted among the rest, what speaks for each subject within reach is checked. A
statement is as true as its claim's label says, or its correction's. Written to
data/metrics/options-samples.csv: a row a group of questions and a size, the means over all subsets
of it, and the difference to all samples with its 95 % interval over resamples of the scenarios.
``agree``: the half of the questions whose samples vote most alike on subjects within reach.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from flows.files import record_lines
from flows.params import load_params
from flows.project import Project, find_project
from flows.stages.metrics import read_domain
from simulrag.method.reconciliation import one_voice, uncertainty, vote_confidence
from simulrag.method.statements import statements_of
from simulrag.metrics.domain import DomainData
from simulrag.metrics.intervals import Floats, estimate
from simulrag.metrics.stated import stated
from simulrag.records import VOTES, Answer, Line, Selection, Subject
from studies.options.compare import OWN

CALLS = 7
"""For tools, decomposition, merging, boundary, verdicts, readings and the text; one a sample."""
COUNTS = ("true", "false", "stated", "asked", "checked", "unchecked")
Ratio = Callable[[Mapping[str, Floats]], tuple[Floats, Floats]]
FIGURES: Mapping[str, Ratio] = {
    "share_true": lambda c: (c["true"], c["true"] + c["false"]),
    "true_claims": lambda c: (c["true"], c["questions"]),
    "asked_values": lambda c: (c["stated"], c["asked"]),
    "checked": lambda c: (c["checked"], c["questions"]),
    "unchecked": lambda c: (c["unchecked"], c["questions"]),
}


def drawn(answer: Answer, samples: Sequence[int]) -> Answer:
    """The answer as if these samples alone had been drawn; claims keep their places."""
    made = {
        at
        for at, claim in enumerate(answer.claims)
        if any(sample in samples for sample, _ in claim.sources)
    }
    subjects = []
    for subject in answer.subjects:
        facets = [
            facet.model_copy(update={"claims": left})
            for facet in subject.facets
            if (left := tuple(claim for claim in facet.claims if claim in made))
        ]
        if facets:
            # What it rests on is named by place, which has moved.
            subjects.append(Subject(about=subject.about, facets=tuple(facets)))
    fewer = [
        claim.model_copy(update={"support": tuple(claim.support[sample] for sample in samples)})
        for claim in answer.claims
    ]
    support = tuple(zip(*(claim.support for claim in fewer), strict=True))
    shares = vote_confidence(subjects, support, len(fewer))
    claims = tuple(
        claim.model_copy(update={"confidence": {**claim.confidence, VOTES: share}})
        for claim, share in zip(fewer, shares, strict=True)
    )
    return answer.model_copy(update={"claims": claims, "subjects": tuple(subjects)})


def whole(answer: Answer) -> Selection:
    """Everything within reach that speaks for its subject."""
    sent = [
        one_voice(one, answer.support, [at for at in one.claims if answer.claims[at].boundary])
        for one in answer.subjects
    ]
    return Selection(
        line=Line(method="reconciled", samples=1, budget_percent=100.0, kappa=0.0),
        selected=tuple(sorted(claim for own in sent for claim in own)),
        subjects=tuple(at for at, own in enumerate(sent) if own),
    )


def counted(data: DomainData, answer: Answer, labels: pl.DataFrame) -> dict[str, float]:
    """What the statements of an answer come to."""
    before = dict(labels.select("claim", "label_before").iter_rows())
    after = dict(labels.select("claim", "label_after").iter_rows())
    found = dict.fromkeys(COUNTS, 0.0)
    true_texts = []
    for one in statements_of(answer, whole(answer)):
        label = (after if one.standing == "corrected" else before).get(one.claim)
        found["true"] += label == "true"
        found["false"] += label == "false"
        found["checked"] += one.standing in ("checked", "corrected")
        found["unchecked"] += one.standing == "unchecked"
        if label == "true":
            true_texts.append(one.text)
    values = data.asks[answer.question_id].values
    found["asked"], found["stated"] = len(values), stated(values, true_texts)
    return found


def disagreement(answer: Answer) -> float:
    """Mean uncertainty of the subjects within reach."""
    found = [
        uncertainty(one, answer.support)
        for one in answer.subjects
        if any(answer.claims[at].boundary for at in one.claims)
    ]
    return float(np.mean(found)) if found else 0.0


def read(folder: Path) -> tuple[list[DomainData], dict[str, list[Answer]]]:
    """The own domains, and their answers with all that they say."""
    project = Project(folder)
    params = load_params(project.params)
    place = project.results
    found, answers = [], {}
    for domain in OWN:
        file = place.benchmark(domain)
        found.append(read_domain(place, domain, params.metrics, params.answer, benchmark=file))
        answers[domain] = list(record_lines(place.answers(domain), Answer))
    return found, answers


def by_size(data: DomainData, answers: Sequence[Answer]) -> dict[int, dict[str, Floats]]:
    """By m what each question comes to, as the mean over all subsets of m samples."""
    samples = len(answers[0].closed_book)
    frames = {str(name): frame for (name,), frame in data.claims.group_by("question_id")}
    found: dict[int, dict[str, list[float]]] = {}
    for size in range(1, samples + 1):
        counts = found.setdefault(size, {name: [] for name in (*COUNTS, "questions")})
        for answer in answers:
            subsets = [
                counted(data, drawn(answer, some), frames[answer.question_id])
                for some in combinations(range(samples), size)
            ]
            for name in COUNTS:
                counts[name].append(float(np.mean([one[name] for one in subsets])))
            counts["questions"].append(1.0)
    return {
        size: {name: np.array(values) for name, values in counts.items()}
        for size, counts in found.items()
    }


def rows(
    domains: Sequence[DomainData], answers: Mapping[str, Sequence[Answer]]
) -> Iterator[dict[str, object]]:
    """A row a group and a size."""
    sizes = [by_size(data, answers[data.domain]) for data in domains]
    spreads = [np.array([disagreement(one) for one in answers[data.domain]]) for data in domains]
    middle = float(np.median(np.concatenate(spreads)))
    groups = {
        "all": [np.ones(len(spread)) for spread in spreads],
        "agree": [(spread <= middle).astype(float) for spread in spreads],
        "disagree": [(spread > middle).astype(float) for spread in spreads],
    }
    for group, masks in groups.items():
        resampled: dict[int, dict[str, Floats]] = {}
        for size in sizes[0]:
            for figure, ratio in FIGURES.items():
                top = low = np.zeros(domains[0].weights.shape[0])
                for data, counts, mask in zip(domains, sizes, masks, strict=True):
                    weights = data.weights[:, data.scenario] * mask
                    above, below = ratio(counts[size])
                    top, low = top + weights @ above, low + weights @ below
                resampled.setdefault(size, {})[figure] = top / low
        most = max(resampled)
        questions = int(sum(mask.sum() for mask in masks))
        for size, figures in resampled.items():
            row: dict[str, object] = {"questions_that": group, "samples": size, "n": questions}
            row["calls"] = CALLS + size
            for figure, values in figures.items():
                less = estimate(values - resampled[most][figure], questions, "undefined")
                row |= {
                    figure: float(values[0]),
                    f"{figure}_less_all": less.value,
                    f"{figure}_lower_95": less.lower_95,
                    f"{figure}_upper_95": less.upper_95,
                }
            yield row


def main(folder: Path) -> int:
    """Write the table."""
    frame = pl.DataFrame(list(rows(*read(folder))), infer_schema_length=None)
    frame = frame.with_columns(pl.col(pl.Float64).round(4))
    frame.write_csv(find_project().results.metrics / "options-samples.csv")
    shown = [name for name in frame.columns if not name.endswith("_95")]
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200):
        print(frame.select(shown))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
