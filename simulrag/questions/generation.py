"""Benchmark generation from end to end: templates, scenarios, runs, questions and their check.

Templates may be a person's, checked as a model's are: a file of the form of
``data/benchmark/DOMAIN-templates.json``, a list, in YAML or JSON; what a template mostly leaves
empty may be left out.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from simulators.base import ArgumentError, RunError, Simulator
from simulrag.errors import InputError, all_problems, problems_of_file
from simulrag.method.asking import together
from simulrag.method.simulation import Simulations
from simulrag.models.base import Asker
from simulrag.questions.check import Problem
from simulrag.questions.records import Kind, SetUpTemplate, Template
from simulrag.questions.scenarios import SampledScenario, run_scenario, scenario_stream
from simulrag.questions.search import SearchedTemplate, draw_search_templates
from simulrag.questions.search_runs import NoWinnerError, run_search
from simulrag.questions.templates import draw_templates, sorted_out, told_to_writers
from simulrag.questions.writing import RejectedScenario, rejection, write_question
from simulrag.records import Question, Record, since


class BenchmarkSummary(Record):
    """What generation asked for and got.

    ``scenarios``: how many were drawn. ``rejected_by_reason`` counts, for each kind of problem, the
    rejected scenarios that show it (one may show several). ``simulator_failures``: scenarios whose
    run failed; they are rejections too. ``exhausted``: every combination of the templates' ranges
    was drawn. ``dropped_templates``: what was wrong with each of the model's that was left out.
    """

    domain: str
    requested: int
    accepted: int
    templates: int
    scenarios: int
    rejected: int
    rejected_by_reason: dict[str, int]
    simulator_failures: int
    exhausted: bool
    rejections: tuple[RejectedScenario, ...] = ()
    dropped_templates: tuple[str, ...] = since(())


class Benchmark(NamedTuple):
    """What generation made."""

    templates: list[Template]
    questions: list[Question]
    summary: BenchmarkSummary


async def generate(
    ask: Asker,
    simulations: Simulations,
    domain: str,
    *,
    n: int,
    seed: int,
    template_count: int,
    kind: Kind = "open",
    set_up: bool = False,
    templates: list[Template] | None = None,
    draws_per_question: int = 3,
    concurrency: int = 16,
    simulator_seed: int = 0,
    accepted: Callable[[], None] = lambda: None,
) -> Benchmark:
    """``n`` checked questions, or fewer where the summary says why.

    ``templates`` None: the model draws them; with ``set_up`` such that state their set-up and may
    ask beyond the simulator's reach. Those of the ``kind`` search always state it, and none of them
    is a person's. Scenarios come from one stream, in batches of what
    is still missing, until ``n`` are accepted or ``draws_per_question`` x ``n`` were drawn; the
    questions are in the stream's order, so a larger ``n`` keeps the smaller one's questions.
    ``accepted`` is called after each question that passed its check.
    """
    if n < 1 or template_count < 1:
        raise InputError(
            f"a benchmark needs at least one question and one template, not {n} and "
            f"{template_count}; see the benchmark section of params.yaml"
        )
    dropped: list[str] = []
    if kind == "search":
        templates, dropped = await draw_search_templates(ask, simulations.simulator, template_count)
    elif templates is None:
        templates, dropped = await draw_templates(
            ask, simulations.simulator, template_count, set_up=set_up
        )
    by_id = {template.template_id: template for template in templates}
    slots = asyncio.Semaphore(concurrency)

    async def outcome_of(scenario: SampledScenario) -> Question | RejectedScenario:
        async with slots:
            template = by_id[scenario.template_id]
            try:
                if isinstance(template, SearchedTemplate):
                    scenario, evidence = await run_search(
                        simulations, template, scenario, domain, seed=simulator_seed, drawn_by=seed
                    )
                else:
                    evidence = await run_scenario(simulations, scenario, simulator_seed)
            except (ArgumentError, RunError) as error:
                return rejection(
                    scenario, "simulator", Problem(kind="simulator", detail=str(error))
                )
            except NoWinnerError as error:
                return rejection(scenario, "search", Problem(kind="ambiguous", detail=str(error)))
            result = await write_question(ask, template, scenario, evidence, domain)
            if isinstance(result, Question):
                accepted()
            return result

    stream = scenario_stream(templates, seed, domain)
    results: list[Question | RejectedScenario] = []
    missing, left, exhausted = n, n * draws_per_question, False
    while missing and left and not exhausted:
        wanted = min(missing, left)
        batch = list(islice(stream, wanted))
        exhausted = len(batch) < wanted
        results += await together(map(outcome_of, batch))
        missing = n - sum(isinstance(result, Question) for result in results)
        left -= len(batch)
    questions = [result for result in results if isinstance(result, Question)]
    rejections = [result for result in results if isinstance(result, RejectedScenario)]
    summary = BenchmarkSummary(
        domain=domain,
        requested=n,
        accepted=len(questions),
        templates=len(templates),
        scenarios=len(results),
        rejected=len(rejections),
        rejected_by_reason=_by_reason(rejections),
        simulator_failures=sum(item.step == "simulator" for item in rejections),
        exhausted=exhausted,
        rejections=tuple(rejections),
        dropped_templates=tuple(dropped),
    )
    return Benchmark(templates, questions, summary)


def _by_reason(rejections: list[RejectedScenario]) -> dict[str, int]:
    kinds = Counter(
        kind for item in rejections for kind in sorted({problem.kind for problem in item.problems})
    )
    return dict(sorted(kinds.items()))


UNSAID: Mapping[str, Mapping[str, Any]] = {
    "placeholders": {"decimals": 0, "wording": "value"},
    "choices": {},
    "runs": {"uses": [], "fixed": []},
    "asks": {
        **{"run": 1, "against": 0, "scale": "value"},
        **{"classes": [], "answers": [], "better": "neither"},
    },
}
"""By part of a template: what its entries are where they do not say."""


def templates_by_hand(raw: object, path: Path, simulator: Simulator) -> list[Template]:
    """The templates of a file whose content is ``raw``. Raises InputError with their problems."""
    if not isinstance(raw, list) or not raw:
        raise InputError(f"{path}: a list of templates is expected; each begins with '- '")
    templates: list[Template] = []
    problems: list[str] = []
    for number, given in enumerate(raw, start=1):
        try:
            templates.append(_template(given))
        except ValidationError as error:
            problems.append(f"template {number}: {all_problems(error)}")
    handbook = told_to_writers(simulator, set_up=True)
    problems += sorted_out(templates, simulator, handbook).problems
    if problems:
        raise problems_of_file(path, problems)
    return templates


def _template(given: object) -> Template:
    if not isinstance(given, dict):
        return Template.model_validate(given)
    parts = {"placeholders": [], "choices": [], **given}
    for part, unsaid in UNSAID.items():
        if isinstance(entries := parts.get(part), list):
            parts[part] = [{**unsaid, **e} if isinstance(e, dict) else e for e in entries]
    if "set_up" in parts:
        return SetUpTemplate.model_validate({"beyond": [], **parts})
    return Template.model_validate(parts)
