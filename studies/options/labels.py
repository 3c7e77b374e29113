"""``python -m studies.options.labels FOLDER``: label what an option's answers say.

Each final answer is taken apart as ever. A text that was labelled in the run whose ``data`` is
FOLDER keeps that label, so that a difference to that run is none of the judge's; the others are
labelled in the words and batches of the stage.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

from flows.files import read_records, read_table, write_records, write_table
from flows.params import open_project
from flows.project import Results
from flows.running.bench import Bench
from flows.sections import LabelParams
from simulrag.judging.claims import final_claims, label_claims, texts_to_label
from simulrag.questions.published import AnsweredQuestion, answered_questions, read_questions
from simulrag.records import Answer, FinalClaims, Label, claim_hash
from studies.options.benches import over

Known = Mapping[tuple[str, str], Label]
Labelled = tuple[tuple[FinalClaims, ...], list[Label]]


async def labelled(
    bench: Bench, pair: AnsweredQuestion, known: Known, settings: LabelParams
) -> Labelled:
    """The final answers of a question as claims, and the labels of all its texts."""
    question, answer = pair
    finals = await final_claims(question, answer, bench.gateway, subjects=settings.subjects)
    keys = {
        (question.question_id, claim_hash(text)): text for text in texts_to_label(answer, finals)
    }
    new = await label_claims(
        question,
        [text for key, text in keys.items() if key not in known],
        bench.gateway,
        settings.tolerance,
        claims_per_call=settings.claims_per_call,
    )
    return finals, [*(known[key] for key in keys if key in known), *new]


async def label(domain: str, base: Results) -> bool:
    """Label one domain's answers into the project's ``data``; False where calls wait."""
    project, params = open_project()
    place = project.results
    if not (path := place.answers(domain)).is_file():
        print(f"{domain} has no answers yet")
        return False
    known = {
        (one.question_id, one.claim_hash): one
        for one in read_table(base.labels(domain), Label)
        if one.failure is None
    }
    questions = read_questions(place.benchmark(domain))
    pairs = answered_questions(read_records(path, Answer), path, questions)

    async def work(bench: Bench, pair: AnsweredQuestion) -> Labelled:
        return await labelled(bench, pair, known, params.label)

    done = await over(f"label-{domain}", "judge", pairs, work)
    if done is None:
        return False
    write_records(place.final_claims(domain), [one for finals, _ in done for one in finals])
    write_table(place.labels(domain), [one for _, labels in done for one in labels], Label)
    return True


async def main(base: Path) -> int:
    """Every domain of params.yaml. The exit code: 75 where calls wait for a batch."""
    _, params = open_project()
    through = [await label(domain, Results(base)) for domain in params.domains]
    return 0 if all(through) else 75


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]))))
