"""How many calls a stage makes and how long they are, where nothing is stored to tell.

Stated assumptions, for the plan alone: they change no result. As soon as calls of a task are in
the cache, their averages take the place of the lengths here, and whole questions that of the
counts.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from flows.params import AnswerParams, BenchmarkParams
from flows.plan.rehearsal import estimated_tokens
from simulrag.models.prompts import Prompts

CLAIMS_PER_ANSWER = 7
"""Atomic claims of one closed-book answer; counted as if no two answers shared one."""
CONTRADICTED = 0.25
"""Share of claims whose update is one text more to label."""
FINAL_CLAIMS = 6
"""Claims of one final answer that are in none of the texts labelled already."""
DRAWS_PER_QUESTION = 1.3
"""Scenarios written for each question that passes the check."""

TYPICAL_TOKENS = {
    "question": 60,
    "answer": 250,
    "claim": 25,
    "context": 300,
    "situation": 60,
    "asks": 100,
    "reference": 120,
}
OUTPUT_TOKENS = {
    "tool_calls": 80,
    "closed_book": 250,
    "decompose": 200,
    "evaluation_decompose": 250,
    "input_rag": 250,
    "output_rag": 250,
    "merge": 60,
    "entailment": 150,
    "verbalized": 12,
    "boundary": 12,
    "verify": 40,
    "final": 350,
    "label": 60,
    "benchmark_templates": 2500,
    "benchmark_question": 250,
    "reference_claims": 250,
}
OTHER_OUTPUT_TOKENS = 250
REASONING_TOKENS = {"none": 0, "minimal": 50, "low": 300, "medium": 1000, "high": 3000}
"""Hidden tokens a reply, by the effort that is asked for; billed as output."""


def benchmark_calls(params: BenchmarkParams) -> dict[str, float]:
    """Calls of a whole benchmark by task."""
    drawn = params.questions * DRAWS_PER_QUESTION
    return {"benchmark_templates": 1, "benchmark_question": drawn, "reference_claims": drawn}


def answer_calls(params: AnswerParams, *, oracle: bool) -> dict[str, float]:
    """Calls of one question by task."""
    claims = claims_per_question(params)
    selected = ceil(claims * params.budget_percent / 100)
    # Input-layer and output-layer RAG write their m texts, and make one answer of them as we do.
    layers = 2 * params.baselines
    joined = layers if params.samples > 1 else 0
    return {
        "tool_calls": 0 if oracle else 1,
        "closed_book": params.samples,
        "decompose": params.samples * (1 + joined),
        "merge": (params.samples - 1) * (1 + joined),
        "entailment": params.samples,
        **_by_claims("boundary", claims, params),
        "verbalized": claims if params.verbalized else 0,
        **_by_claims("verify", claims if params.verify == "all" else selected, params),
        "input_rag": params.samples * params.baselines,
        "output_rag": params.samples * params.baselines,
        "final": final_answers(params) - 1 - layers,
    }


def final_answers(params: AnswerParams) -> int:
    """Final answers of one question: SimulRAG's, a closed-book sample, and those compared with."""
    if not params.baselines:
        return 2
    several = 3 + (params.verify == "all")  # each way at m, and SimulRAG at m = 1
    return 4 + (several if params.samples > 1 else 0)


def label_calls(params: AnswerParams) -> dict[str, float]:
    """Calls of one question by task."""
    finals = final_answers(params)
    texts = claims_per_question(params) * (1 + CONTRADICTED) + finals * FINAL_CLAIMS
    return {"evaluation_decompose": finals, "label": texts}


def claims_per_question(params: AnswerParams) -> int:
    """Distinct claims of a question, at most."""
    return params.samples * min(params.max_claims, CLAIMS_PER_ANSWER)


def prompt_tokens(prompts: Prompts, task: str, params: AnswerParams, handbook: str) -> int:
    """Tokens of a task's prompt with data of typical length in it."""
    texts: dict[str, Any] = {name: _text(tokens) for name, tokens in TYPICAL_TOKENS.items()}
    claims = [_text(TYPICAL_TOKENS["claim"])] * claims_per_question(params)
    half = claims[: len(claims) // 2]
    lists = {"claims": claims, "existing": half, "new": claims[:CLAIMS_PER_ANSWER], "problems": []}
    others = {"handbook": handbook, "limit": 12, "count": 10, "tolerance": "rounding"}
    return estimated_tokens(prompts.render(task, **texts, **lists, **others))


def output_tokens(task: str, effort: str | None) -> int:
    """Tokens of a reply."""
    plain = OUTPUT_TOKENS.get(task.removesuffix("_batch"), OTHER_OUTPUT_TOKENS)
    return plain + REASONING_TOKENS.get(effort or "none", REASONING_TOKENS["medium"])


def _by_claims(task: str, claims: int, params: AnswerParams) -> dict[str, float]:
    """Calls over claims: one each, or batches where the parameters name a size."""
    size = params.claims_per_call.model_dump().get(task, 1)
    return {task: claims} if size == 1 else {f"{task}_batch": ceil(claims / size)}


def _text(tokens: int) -> str:
    return "abc " * tokens
