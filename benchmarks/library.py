"""How long an index of a large library takes to make, and a query of it to answer.

The texts are made up: words of a large vocabulary, drawn as often as words of a language are.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from simulators.library import LibrarySimulator
from simulators.library.builder import build_corpus
from simulators.library.simulator import TOOL, QueryArguments

PASSAGES = 100_000
WORDS_A_PASSAGE = 290
VOCABULARY = 200_000
QUERIES = 100
WORDS_A_QUERY = 12


def library() -> Iterator[Figure]:
    """For 100,000 passages: seconds of the build, milliseconds of the first query and the next."""
    draws = np.random.default_rng(0)
    names = np.array([f"word{number:x}" for number in range(VOCABULARY)])

    def text(count: int) -> str:
        return " ".join(names[(draws.zipf(1.2, count) - 1) % VOCABULARY])

    with tempfile.TemporaryDirectory() as folder:
        source, corpus = Path(folder) / "pages.jsonl", Path(folder) / "corpus"
        told = {"document": "made up", "licence": "CC0", "attribution": "nobody"}
        with source.open("w", encoding="utf-8") as file:
            for number in range(PASSAGES):
                page = told | {"locator": str(number), "text": text(WORDS_A_PASSAGE)[:2000]}
                file.write(json.dumps(page) + "\n")
        began = time.perf_counter()
        built = build_corpus(corpus, [source])
        passages = built.manifest.passages
        yield "library_build_s", time.perf_counter() - began, "s", passages
        began = time.perf_counter()
        LibrarySimulator(corpus).fingerprint()
        yield "library_fingerprint_ms", 1000 * (time.perf_counter() - began), "ms", 1
        simulator = LibrarySimulator(corpus)
        began = time.perf_counter()
        simulator.run(TOOL, QueryArguments(query=text(WORDS_A_QUERY)), 0)
        yield "library_first_query_ms", 1000 * (time.perf_counter() - began), "ms", 1
        took = []
        for _ in range(QUERIES):
            query = QueryArguments(query=text(WORDS_A_QUERY))
            began = time.perf_counter()
            simulator.run(TOOL, query, 0)
            took.append(1000 * (time.perf_counter() - began))
        yield "library_query_ms_median", float(np.median(took)), "ms", QUERIES
        yield "library_query_ms_longest", max(took), "ms", QUERIES
