"""What a folder or an export of somebody else's may not do."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from simulators.library.builder import build_corpus
from simulators.library.builder.pages import read_pages
from simulators.library.corpus import Corpus, CorpusError
from simulrag.errors import InputError
from simulrag.judging.label_studio import read_export

LONG = "A sentence about rivers and lakes. " * 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Documents with a link out of the folder, one within it, and a folder linked in."""
    made = tmp_path / "docs"
    (made / "deeper").mkdir(parents=True)
    (made / "own.md").write_text(LONG)
    (tmp_path / "secret.txt").write_text("The password is 1234. " * 20)
    (made / "secret.txt").symlink_to(tmp_path / "secret.txt")
    (made / "deeper/again.md").symlink_to(made / "own.md")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/more.md").write_text("The password is 1234. " * 20)
    (made / "linked").symlink_to(tmp_path / "elsewhere")
    return made


def test_links_do_not_lead_out_of_a_folder_of_documents(folder: Path, tmp_path: Path) -> None:
    build_corpus(tmp_path / "corpus", [folder], licence="CC0", attribution="us")
    corpus = Corpus(tmp_path / "corpus")
    corpus.open()
    texts = [corpus.passage(at).text for at in range(corpus.manifest.passages)]
    assert texts
    assert not any("password" in text for text in texts)


def test_a_deep_export_is_one_line() -> None:
    with pytest.raises(InputError, match="not valid JSON"):
        read_export(b"[" * 200_000, "export.json")


@pytest.mark.parametrize("piece", ["<!--", "![", "```{r}\n", "# #"])
def test_a_document_of_half_marks_is_read(tmp_path: Path, piece: str) -> None:
    (tmp_path / "a.md").write_text(f"# A\n\nText.\n{piece * (800_000 // len(piece))}>")
    began = time.process_time()
    list(read_pages(tmp_path / "a.md"))
    assert time.process_time() - began < 5


@pytest.mark.parametrize("name", ["a.ipynb", "a.jsonl"])
def test_a_deep_document_is_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("[" * 200_000)
    with pytest.raises(CorpusError):
        list(read_pages(tmp_path / name))
