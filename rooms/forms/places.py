"""Where the files of a source of questions by form lie, among the outs."""

from __future__ import annotations

from pathlib import Path

from flows.project import Results


def documents(place: Results, source: str) -> Path:
    """Return the file of what lineage knows of a source's documents."""
    return place.data / "sources" / f"{source}.json"


def corpus(place: Results, source: str) -> Path:
    """Return the folder of a source's documents; empty where it has none."""
    return place.data / "corpus" / source


def benchmark(place: Results, source: str) -> Path:
    return _made(place, source, "benchmark.jsonl")


def refused(place: Results, source: str) -> Path:
    return _made(place, source, "refused.jsonl")


def summary(place: Results, source: str) -> Path:
    return _made(place, source, "summary.json")


def answers(place: Results, source: str) -> Path:
    return _made(place, source, "answers.jsonl")


def scores(place: Results, source: str) -> Path:
    return _made(place, source, "scores.jsonl")


def metrics(place: Results, source: str) -> Path:
    return place.metrics / f"forms-{source}.csv"


def _made(place: Results, source: str, name: str) -> Path:
    return place.data / "forms" / source / name
