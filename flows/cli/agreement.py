"""``python -m flows.cli.agreement ONE TWO``: how far two runs' answers agree.

Both are JSONL files of the answer stage over the same questions, for example with
``claims_per_call: {boundary: 1, verify: 1}`` and with batches. One JSON object a line (name,
value, unit, n).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from flows.files import read_records
from flows.stages.bench import exits
from simulrag.errors import InputError
from simulrag.metrics.run_agreement import agreements
from simulrag.records import Answer


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("one", type=Path, help="answers of one run, JSONL")
    parser.add_argument("two", type=Path, help="answers of the other run, JSONL")
    arguments = parser.parse_args()
    one, two = (read_records(path, Answer) for path in (arguments.one, arguments.two))
    if not {answer.question_id for answer in one} & {answer.question_id for answer in two}:
        raise InputError(f"{arguments.one} and {arguments.two} share no question")
    for figure in agreements(one, two):
        sys.stdout.write(json.dumps(dataclasses.asdict(figure)) + "\n")


if __name__ == "__main__":
    raise SystemExit(exits(main))
