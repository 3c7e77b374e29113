"""``python -m studies.options.compare BASE NAME=FOLDER ...``: options against the default.

Folders are projects whose own questions were answered, labelled and measured alike but for the
option. Written to data/metrics/options.csv: a row a figure, the option's less the default's with
the 95 % interval over the same resamples of the questions of all domains. ``bound``: what the rule
asks of an option that is to be the default; ``holds``: whether it does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
import polars as pl

from flows.params import load_params
from flows.project import Project, find_project
from flows.stages.metrics import read_domain
from simulrag.metrics.domain import DomainData, FinalCounts
from simulrag.metrics.families.cost import method_cost
from simulrag.metrics.intervals import Floats, estimate
from simulrag.metrics.methods import UE_SBA, name_of
from simulrag.metrics.plan import plans_of, ranked_claims
from simulrag.metrics.ranking import measure
from simulrag.metrics.settings import Undecided
from simulrag.records import Line

OWN = ("urban", "climate", "epidemiology")
LEAST = -0.05
"""Of the lower end of a difference, of an option that is to be the default."""
FOUND = 0.95
"""Of the default's claims a question."""
BUDGETS = {25: "reconciled", 100: "reconciled_complete"}
BOUNDED = ("auroc_25", "share_true_25", "share_true_100")
Domains = Sequence[DomainData]
Ratio = Callable[[FinalCounts], tuple[Floats, Floats]]

RATIOS: Mapping[str, Ratio] = {
    "share_true": lambda c: (c["true"] * c["complete"], (c["true"] + c["false"]) * c["complete"]),
    "true_claims": lambda c: (c["true"] * c["complete"], c["complete"]),
    "asked_values": lambda c: (
        np.divide(c["stated"], c["asked"], out=np.zeros_like(c["asked"]), where=c["asked"] > 0),
        c["complete"] * (c["asked"] > 0),
    ),
    "claims_sent": lambda c: (c["claims_sent"] * c["complete"], c["complete"]),
}


def measured(folder: Path) -> Domains:
    """What a project's own domains came to."""
    project = Project(folder)
    params = load_params(project.params)
    found = []
    for domain in OWN:
        place = project.results
        benchmark = place.benchmark(domain)
        found.append(read_domain(place, domain, params.metrics, params.answer, benchmark=benchmark))
    return found


def line_of(data: DomainData, budget: int) -> Line:
    """The reconciled line of a budget, whatever its kappa."""
    return next(
        line
        for line in data.lines
        if (line.method, line.budget_percent) == (BUDGETS[budget], budget)
    )


def figures(domains: Domains, undecided: Undecided = "excluded") -> dict[str, Floats]:
    """Each figure as observed, then a resample each."""
    found = {"auroc_25": np.mean([_auroc(data, undecided) for data in domains], axis=0)}
    for budget in BUDGETS:
        for name, ratio in RATIOS.items():
            parts = [
                [data.weights[:, data.scenario] @ part for part in ratio(counts)]
                for data in domains
                for counts in (data.final_counts[line_of(data, budget)],)
            ]
            found[f"{name}_{budget}"] = sum(top for top, _ in parts) / sum(low for _, low in parts)
    claims = [_claims(data) for data in domains]
    found["claims"] = sum(top for top, _ in claims) / sum(low for _, low in claims)
    return found


def _auroc(data: DomainData, undecided: Undecided) -> Floats:
    (setting,) = (
        one
        for one in plans_of(data)[data.settings.centrality]
        if (one.method, one.budget_percent) == (UE_SBA, 25)
    )
    return measure(ranked_claims(data, setting, undecided), data.weights)["auroc"]


def _claims(data: DomainData) -> tuple[Floats, Floats]:
    weights = data.weights[:, data.scenario]
    counts = np.bincount(data.pool.question, minlength=len(data.answers)).astype(float)
    return weights @ counts, weights @ np.ones(len(data.answers))


def calls(domains: Domains, budget: int) -> float:
    """Model calls a question of an answer by itself."""
    return fmean(
        row.value or 0.0
        for data in domains
        for row in method_cost(data)
        if (row.level, row.metric, row.step) == ("answer", "calls", "all")
        and (row.method, row.budget_percent) == (name_of(line_of(data, budget)), budget)
    )


def spared(folder: Path) -> Mapping[int, int]:
    """Boundary calls by budget that a run made for its smaller budget alone."""
    settings = load_params(Project(folder).params).answer
    return {budget: int(settings.bounded_by_verdicts(budget)) for budget in BUDGETS}


def rows(
    name: str, base: Domains, option: Domains, less: Mapping[int, int]
) -> Iterator[dict[str, object]]:
    """The option's figures beside the default's; ``less``: calls of the option that it spares."""
    ours, theirs = figures(option), figures(base)
    questions = sum(len(data.answers) for data in base)
    for figure, values in ours.items():
        found = estimate(values - theirs[figure], questions, "undefined")
        bound, holds = None, None
        if figure in BOUNDED:
            bound, holds = LEAST, found.lower_95 is not None and found.lower_95 > LEAST
        if figure == "claims":
            bound = FOUND * float(theirs[figure][0])
            holds = float(values[0]) >= bound
        yield {
            "option": name,
            "figure": figure,
            "default": float(theirs[figure][0]),
            "value": float(values[0]),
            "difference": found.value,
            "lower_95": found.lower_95,
            "upper_95": found.upper_95,
            "bound": bound,
            "holds": holds,
        }
    for budget in BUDGETS:
        before, after = calls(base, budget), calls(option, budget) - less[budget]
        told = {"default": before, "value": after, "difference": after - before}
        yield {"option": name, "figure": f"calls_{budget}", **told}


def main(base: Path, options: Mapping[str, Path]) -> int:
    """Write the table."""
    default = measured(base)
    found = [
        row for name, at in options.items() for row in rows(name, default, measured(at), spared(at))
    ]
    frame = pl.DataFrame(found, infer_schema_length=None)
    frame = frame.with_columns(pl.col(pl.Float64).round(4))
    frame.write_csv(find_project().results.metrics / "options.csv")
    with pl.Config(tbl_rows=-1, tbl_width_chars=140):
        print(frame)
    return 0


if __name__ == "__main__":
    named = dict(part.split("=", 1) for part in sys.argv[2:])
    sys.exit(main(Path(sys.argv[1]), {name: Path(at) for name, at in named.items()}))
