"""The parameters of the next recording, over the test double's traffic."""

from __future__ import annotations

from pathlib import Path

from flows.params import load_params
from simulators.registry import load
from simulrag.calls import CallCache
from simulrag.judging.claims import final_claims, label_claims, texts_to_label
from simulrag.method.algorithm import Instruments, choose, conclude, draft
from simulrag.method.reading import read_claims, readable_runs
from simulrag.method.simulation import Simulations
from simulrag.method.subjects import EVALUATION_SUBJECTS, find_subjects
from simulrag.models.base import Sampling
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.questions.open.generation import generate
from simulrag.testing import LoopbackServer, traffic

NEXT = Path(__file__).parents[2] / "params.next.yaml"


async def test_the_next_recording_from_templates_to_labels(tmp_path: Path) -> None:
    params = load_params(NEXT)
    method = params.answer
    simulator = load("urban")
    with (
        LoopbackServer(traffic()) as server,
        CallCache(tmp_path / "cache", stage="test") as cache,
    ):
        settings = ModelSettings(
            provider="openai", model="m", base_url=server.url, sampling=Sampling(seed=0)
        )
        gateway = Gateway(make_provider(settings), settings, cache, packaged_prompts())
        simulations = Simulations(simulator, cache)
        made = await generate(
            gateway,
            simulations,
            "urban",
            n=1,
            seed=1,
            template_count=10,
            set_up=params.benchmark.set_up,
        )
        (question,) = made.questions
        use = Instruments(gateway, simulations)
        drafted = await draft(question, use, method)
        (choices,) = choose([drafted], method)
        answer = await conclude(question, drafted, choices, use, method)
        asked = dict(gateway.usage)
        finals = await final_claims(question, answer, gateway)
        labels = await label_claims(
            question,
            texts_to_label(answer, finals),
            gateway,
            params.label.tolerance,
            claims_per_call=params.label.claims_per_call,
        )
        texts = [claim.text for claim in answer.claims]
        readings = await read_claims(
            question.text, texts, readable_runs(question.evidence, simulator.tools), gateway
        )
        again = await find_subjects(
            question.text, finals[0].claims, gateway, task=EVALUATION_SUBJECTS
        )
        await gateway.close()

    assert answer.failure is None
    assert all(text.failure is None and text.text for text in answer.baselines)
    verdicts = [claim.verdict for claim in answer.claims]
    assert any(one is not None and one.found for one in verdicts)
    assert (answer.final.line.method, bool(answer.subjects)) == ("reconciled_complete", True)
    assert all(label.failure is None for label in labels)
    assert any(reading.output and reading.value for reading in readings)
    assert sum(len(subject.claims) for subject in again) == len(finals[0].claims)
    written = {"joint": 1, "uncovered": 1, "closed_book": method.samples}
    assert {task: asked[task].calls for task in written} == written
