"""How many calls are left and how long they are, where what is stored does not tell.

Lengths and counts come from the stored calls of the same task as far as there are any; else from
the assumptions below and from each task's ``tokens``, which change no result: what the recorded run
took (45 questions, m = 5), rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from flows.params import Params
from flows.plan.rehearse import Length, Rehearsal, Rehearsed, Stage, text_tokens
from flows.sections import BenchmarkParams
from simulrag.method.settings import MethodSettings
from simulrag.records import Answer, FinalText, Record
from simulrag.task import tasks

CLAIMS_PER_ANSWER = 12
"""Atomic claims of one closed-book answer."""
NEW_CLAIMS_PER_SAMPLE = 4.2
"""Claims of each further answer that no earlier one holds."""
CONTRADICTED = 0.25
"""Share of claims whose update is one text more to label."""
FINAL_CLAIMS = 7.5
"""Claims of one final answer that are in none of the texts labelled already."""
DRAWS_PER_QUESTION = 1.1
"""Scenarios written for each question that passes the check."""
REFERENCE_CLAIMS = 11
FACTS = 9
"""Sentences of a question's evidence."""
PASSAGES = 3
"""Passages of one look into documents, its tool's default."""
CLAIM_TOKENS = 25
SET_UP_TOKENS = {"benchmark_templates": 2300, "benchmark_question": 180}
"""Further ones of a reply about a question that states its set-up."""
REASONING_TOKENS = {"none": 0, "minimal": 50, "low": 300, "medium": 1000, "high": 3000}
"""Hidden tokens a reply, by the effort that is asked for; billed as output."""


class TaskWork(Record):
    """One task of a stage. ``calls``: still to be made, ``known`` of them by their keys.

    ``cached``: stored calls, which cost nothing. The tokens are those of ``calls``.
    """

    stage: str
    task: str
    calls: int
    known: int
    cached: int
    input_tokens: int
    output_tokens: int


def stage_work(found: Rehearsed, stage: Stage, params: Params) -> list[TaskWork]:
    """What is left of a domain's stage, by task."""
    gate = found.gates[stage]
    if found.domain not in params.by_domain.get(stage.split("-")[0], params.domains):
        return []
    expected = {} if _is_done(found, stage) else _expected(found, stage, params)
    names = dict.fromkeys([*expected, *gate.stored, *gate.missing])
    works = [_task(found, stage, name, expected.get(name, 0.0), params) for name in names]
    return [work for work in works if work.calls or work.cached]


def _is_done(found: Rehearsed, stage: Stage) -> bool:
    """Nothing of the stage is left."""
    if stage == "benchmark":
        return found.oracle or found.benchmark is not None
    if stage in ("routing", "score", "score-answers"):  # stored and not, counted against all of it
        return False
    if stage == "attribution":  # with every answer there, its calls are known one by one
        return bool(found.questions) and len(found.complete) == len(found.questions)
    done = len(found.complete) if stage == "answer" else found.labelled
    return bool(found.questions) and done == len(found.questions)


def _expected(found: Rehearsed, stage: Stage, params: Params) -> dict[str, float]:
    """Calls of the whole stage by task: as whole questions had them, else as assumed."""
    if stage == "benchmark":
        return benchmark_calls(params.benchmark)
    questions = len(found.questions) or params.benchmark.questions
    if stage == "routing":
        written = params.routing.near_misses
        return {"near_misses": bool(written), "route": questions + found.out_of_reach + written}
    if stage == "answer" and found.complete:
        per = _mean_calls([answer for _, answer in found.complete])
    elif stage == "answer":
        per = answer_calls(params.answer, oracle=found.oracle, documents=found.documents)
    elif stage in ("score", "score-answers"):
        return score_calls(params, questions, anew=stage == "score-answers")
    elif stage == "attribution":
        per = attribution_calls(params, found.domain)
    elif found.labelled:
        stored = found.gates["label"].stored
        per = {task: len(calls) / found.labelled for task, calls in stored.items()}
    else:
        per = label_calls(params)
    return {task: calls * questions for task, calls in per.items()}


def _task(found: Rehearsed, stage: Stage, task: str, expected: float, params: Params) -> TaskWork:
    gate = found.gates[stage]
    effort = gate.settings.sampling_of(task).reasoning_effort
    assumed = assumed_length(task, params, found.handbook, effort)
    return task_work(gate, f"{stage}@{found.domain}", task, expected, assumed)


def task_work(gate: Rehearsal, stage: str, task: str, expected: float, assumed: Length) -> TaskWork:
    """What is left of a task, of which ``expected`` calls are made in all."""
    stored = list(gate.stored.get(task, {}).values())
    missing = list(gate.missing.get(task, {}).values())
    later = max(0, round(expected) - len(stored) - len(missing))
    if stored:
        each = _mean(stored)
    else:
        each = assumed
        if missing:
            each = Length(round(sum(missing) / len(missing)), each.tokens_out)
    return TaskWork(
        stage=stage,
        task=task,
        calls=len(missing) + later,
        known=len(missing),
        cached=len(stored),
        input_tokens=sum(missing) + later * each.tokens_in,
        output_tokens=(len(missing) + later) * each.tokens_out,
    )


def gate_work(
    gate: Rehearsal, stage: str, expected: Mapping[str, float], handbook: str = ""
) -> list[TaskWork]:
    """What is left of a stage, by task, where no call speaks of several claims."""
    names = dict.fromkeys([*expected, *gate.stored, *gate.missing])
    works = [
        task_work(gate, stage, name, expected.get(name, 0.0), _of_one_claim(name, handbook))
        for name in names
    ]
    return [work for work in works if work.calls or work.cached]


def _mean(calls: Sequence[Length]) -> Length:
    return Length(
        round(sum(call.tokens_in for call in calls) / len(calls)),
        round(sum(call.tokens_out for call in calls) / len(calls)),
    )


def benchmark_calls(params: BenchmarkParams) -> dict[str, float]:
    """Calls of a whole benchmark by task."""
    drawn = params.questions * DRAWS_PER_QUESTION
    return {
        "benchmark_templates": 1,
        "benchmark_question": drawn,
        "reference_claims": drawn,
        "verify_batch": drawn,
    }


def answer_calls(
    method: MethodSettings, *, oracle: bool, documents: bool = False
) -> dict[str, float]:
    """Calls of one question by task; ``documents`` are searched in all attempts."""
    m, claims = method.samples, claims_per_question(method)
    joint = method.merging == "joint"  # the answers compared with are merged by the tree
    verified = claims
    if method.verify == "selected" and method.tau is None:
        verified = ceil(claims * max(method.final_budgets_percent) / 100)
    sizes = method.claims_per_call.model_dump()
    # Input-layer and output-layer RAG write their m texts, and make one answer of them as we do.
    ways = 3 if method.baselines and m > 1 else 1
    reconciled = method.method == "reconciled"
    calls: dict[str, float] = {
        "tool_calls": 0 if oracle else 1,
        "more_calls": method.max_attempts - 1 if documents else 0,
        "closed_book": m,
        "decompose": m * ways,
        "merge": (m - 1) * (ways - joint),
        "joint": joint,
        "entailment": 0 if joint else m,
        **_by_claims("boundary", claims, sizes["boundary"]),
        **_by_claims("verbalized", claims if method.verbalized else 0, sizes["verbalized"]),
        **_verdicts(method, verified),
        "input_rag": m * method.baselines,
        "output_rag": m * method.baselines,
        "final": written_answers(method),
        "subjects": reconciled and not joint,
        "final_reconciled": reconciled_answers(method),
        "uncovered": reconciled and method.complete,
    }
    return {task: count for task, count in calls.items() if count}


def _verdicts(method: MethodSettings, claims: int) -> Mapping[str, float]:
    size = method.claims_per_call.verify
    read = _by_claims("verify", claims, size)
    compared = {"read_claims": ceil(claims / size)}
    if method.verify_by == "both":
        return {**read, **compared}
    return read if method.verify_by == "model" else compared


def written_answers(method: MethodSettings) -> int:
    """Final answers of one question that are written from claims."""
    several = method.baselines and method.samples > 1
    first_samples = _budgets(method) if several and method.verify == "all" else 0
    own = method.method == "paper" or method.baselines
    return own * _budgets(method) * (1 + method.without_kappa) + 3 * several + first_samples


def reconciled_answers(method: MethodSettings) -> int:
    """Final answers of one question that are written from statements of subjects."""
    if method.method != "reconciled":
        return 0
    beside = method.complete and method.baselines
    return _budgets(method) * (1 + method.without_kappa) + beside


def _budgets(method: MethodSettings) -> int:
    return len(method.final_budgets_percent) if method.tau is None else 1


def label_calls(params: Params) -> dict[str, float]:
    """Calls of one question by task."""
    method = params.answer
    # A sample by itself, and where others are compared, both RAGs of one sample.
    finals = written_answers(method) + reconciled_answers(method) + 1 + 2 * method.baselines
    texts = ceil(claims_per_question(method) * (1 + CONTRADICTED) + finals * FINAL_CLAIMS)
    return {
        "evaluation_decompose": finals,
        **({"evaluation_subjects": finals} if params.label.subjects else {}),
        **_by_claims("label", texts, params.label.claims_per_call),
    }


def attribution_calls(params: Params, domain: str) -> dict[str, float]:
    """Calls of one question by task: one run, and three passages where there are documents."""
    settings, name = params.attribution, params.simulator(domain).name
    items = {"library": PASSAGES, "joined": PASSAGES + 1}.get(name, 1)
    contexts = 2 if name == "joined" else 0  # either source by itself; both were verified already
    if settings.estimator == "rerun":
        contexts += 1
    elif settings.estimator not in ("by_source", "cil") and items > 1:
        contexts += 2**items - 2 if settings.estimator == "shapley" else items
    claims, size = claims_per_question(params.answer), params.answer.claims_per_call.verify
    # Of cil no window is assumed: which passages are dated is not known.
    dated = PASSAGES if settings.estimator == "cil" and items > 1 else 0
    more = {"chance_given": 2 * settings.repeats * dated} if dated else {}
    if settings.chances == "stated":  # with nothing and with everything shown, too
        return {"chance_shown": (contexts + 2) * settings.repeats * ceil(claims / size), **more}
    asked = _by_claims("verify", claims, size)
    return {task: calls * contexts for task, calls in asked.items() if contexts} | more


def score_calls(params: Params, questions: int, *, anew: bool) -> dict[str, float]:
    """Calls of all questions by task: the judge's, or with ``anew`` of answering their variants."""
    score, method = params.score, params.answer
    varied = min(score.variants, questions)
    lean = {"final_budgets_percent": method.final_budgets_percent[-1:], "without_kappa": False}
    if anew:
        own = method.model_copy(update={**lean, "verbalized": False})
        return {task: 2 * varied * calls for task, calls in answer_calls(own, oracle=False).items()}
    answers = 1 + 3 * method.baselines + reconciled_answers(method.model_copy(update=lean))
    judged = answers * questions
    calls = {
        "score_details": judged * (len(score.judges) or score.samples),
        "score_mask": judged,
        "score_ask_back": judged,
        "score_paraphrase": varied,
        "score_perturb": varied,
        "evaluation_decompose": 2 * answers * varied,
        "read_claims": 3 * answers * varied,
        "verify_batch": judged * (1 + FACTS) * score.dependence,
    }
    return {task: count for task, count in calls.items() if count}


def claims_per_question(method: MethodSettings) -> int:
    """Merged claims of a question."""
    own = min(method.max_claims, CLAIMS_PER_ANSWER)
    return round(own + (method.samples - 1) * NEW_CLAIMS_PER_SAMPLE)


def assumed_length(task: str, params: Params, handbook: str, effort: str | None) -> Length:
    """The length of a call of which none is stored."""
    one, step = _of_one_claim(task, handbook), tasks()[task].step
    tokens_in, tokens_out = one.tokens_in, one.tokens_out
    if params.benchmark.set_up:
        tokens_out += SET_UP_TOKENS.get(task, 0)
    if step != task:
        sizes = {
            "label": params.label.claims_per_call,
            **params.answer.claims_per_call.model_dump(),
        }
        claims = min(sizes.get(step, REFERENCE_CLAIMS), claims_per_question(params.answer))
        tokens_in, tokens_out = tokens_in + (claims - 1) * CLAIM_TOKENS, tokens_out * claims
    return Length(tokens_in, tokens_out + REASONING_TOKENS.get(effort or "none", 1000))


def _of_one_claim(task: str, handbook: str) -> Length:
    """The length of a call of a task's step, of which none is stored, about one claim."""
    asked = tasks()[task]
    tokens_in, tokens_out = tasks()[asked.step].tokens
    return Length(tokens_in + asked.handbook * text_tokens(handbook), tokens_out)


def _mean_calls(answers: Iterable[Answer]) -> dict[str, float]:
    total: dict[str, int] = {}
    count = 0
    for answer in answers:
        count += 1
        for used in (answer.usage, *(text.usage for text in _distinct(answer))):
            for task, usage in used.items():
                total[task] = total.get(task, 0) + usage.calls
    return {task: calls / count for task, calls in total.items()}


def _distinct(answer: Answer) -> list[FinalText]:
    """The answers to compare with whose calls no other has: RAG at m = 1 is the first of its m."""
    several = len(answer.closed_book) > 1
    layers = ("input_rag", "output_rag")
    return [
        text
        for text in answer.baselines
        if not (several and text.line.samples == 1 and text.line.method in layers)
    ]


def _by_claims(task: str, claims: int, size: int) -> Mapping[str, float]:
    """Calls over claims: one each, or batches where the parameters name a size."""
    return {task: claims} if size == 1 else {f"{task}_batch": ceil(claims / size)}
