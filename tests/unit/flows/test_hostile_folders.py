"""What a folder or an export of somebody else's may not do."""

from __future__ import annotations

import json
import time
from codecs import BOM_UTF8
from pathlib import Path

import pytest

from flows.cli.app import app
from flows.cli.main import ended
from flows.cli.sources import import_official
from flows.files import read_records
from flows.imported import imported
from flows.params import load_params
from flows.project import Project, Results
from simulators.library.builder import build_corpus
from simulators.library.builder.pages import read_pages
from simulators.library.corpus import Corpus, CorpusError
from simulrag.errors import InputError
from simulrag.judging.label_studio import read_export
from simulrag.questions.published import read_published, read_questions
from simulrag.questions.records import read_templates
from simulrag.records import Question
from tests.integration.projects import ROOT

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


@pytest.mark.parametrize(
    "arguments",
    [
        ("library", "build", "LOOP/corpus", "LOOP", "--licence", "CC0", "--attribution", "us"),
        ("check", "LOOP", "--domain", "urban", "--question", "What happens?"),
        ("table", "--results", "LOOP"),
        ("plan", "--benchmark", "LOOP"),
        ("mcp", "--project", "LOOP"),
    ],
    ids=" ".join,
)
def test_a_loop_of_links_is_a_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    monkeypatch.chdir(ROOT)
    at = [
        word.replace("LOOP", str(loop)).replace("corpus", str(tmp_path / "c")) for word in arguments
    ]
    code = ended(lambda: app(at))
    error = capsys.readouterr().err
    assert code in (1, 2), error
    assert str(loop) in error
    assert error.count("\n") == 1


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


NAMES = (
    "../../../evil",
    "/tmp/evil",
    "$(touch pwned)",
    "<img src=x>",
    "two\nlines",
    "-flag",
    ".hidden",
    "dotted.name",
    "n" * 101,
)


def official(folder: Path, questions: bytes = b"") -> Path:
    """A folder in the published format."""
    folder.mkdir(parents=True)
    entry = {"question": "?", "reference_answer": "A.", "derived_quantitative_answer": "3"}
    whole = json.dumps([entry]).encode()
    (folder / "questions.json").write_bytes(questions or whole)
    (folder / "simulator_evidence.json").write_bytes(whole)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_domain_is_named_as_in_params(tmp_path: Path, name: str) -> None:
    given = official(tmp_path / "a/b/c/urban")
    project = tmp_path / "a/b/project"
    project.mkdir()
    with pytest.raises(InputError, match="can be no domain's name"):
        import_official(given, domain=name, out=project / "x.jsonl")
    if len(name) > 100 or "/" in name:
        return
    with pytest.raises(InputError, match=r"can be no domain's name.* by --domain"):
        import_official(official(tmp_path / "folders" / name).parent)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / f"{name}.jsonl").touch()
    with pytest.raises(InputError, match=r"can be no domain's name.*rename"):
        imported(tmp_path / "files", None, 0)


@pytest.mark.parametrize("name", ["urban", None])
def test_links_that_go_round_are_one_line(tmp_path: Path, name: str | None) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for folder in (tmp_path / "a", tmp_path / "a" / "urban"):
        with pytest.raises(InputError, match=r"questions\.json"):
            import_official(folder, domain=name, out=tmp_path / "x.jsonl")


ASKED = {"question": "?", "reference_answer": "A."}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (BOM_UTF8 + json.dumps([ASKED]).encode(), None),
        (BOM_UTF8 + BOM_UTF8 + json.dumps([ASKED]).encode(), "is not JSON"),
        (b"[" * 200_000, "is not JSON"),
        (json.dumps([{**ASKED, "reference_answer": "\ud800"}]).encode(), "half of a surrogate"),
        (json.dumps([{**ASKED, "question": "\udfff?"}]).encode(), "half of a surrogate"),
        (json.dumps([{**ASKED, "reference_answer": "\ud83d\ude00"}]).encode(), None),
    ],
    ids=["a mark", "two marks", "deep", "a first half", "a second half", "a whole pair"],
)
def test_official_files_of_odd_texts(tmp_path: Path, content: bytes, words: str | None) -> None:
    folder = official(tmp_path / "urban", content)
    if words is None:
        assert len(read_published(folder)) == 1
        return
    with pytest.raises(InputError, match=words) as raised:
        read_published(folder)
    assert "questions.json" in str(raised.value)


LINE = b'{"question_id":"q","domain":"urban","text":"?","reference_answer":"A","scenario_id":"s"}\n'
MARKED = BOM_UTF8 + LINE


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (MARKED, None),
        (LINE + MARKED, "line 2"),
        (b"[" * 200_000, "line 1"),
        (LINE.replace(b'"A"', b'"\\ud800"'), "line 1"),
    ],
    ids=["a mark", "a mark within", "deep", "half a pair"],
)
def test_benchmark_files_of_odd_texts(tmp_path: Path, content: bytes, words: str | None) -> None:
    file = tmp_path / "urban.jsonl"
    file.write_bytes(content)
    if words is None:
        assert read_questions(file) == read_records(file, Question)
        return
    with pytest.raises(InputError, match=words):
        read_questions(file)


def test_templates_that_are_deep_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("[" * 200_000)
    with pytest.raises(InputError, match="not a file of templates"):
        read_templates(tmp_path / "t.json")


def test_evidence_of_a_marked_file_is_replayed(tmp_path: Path) -> None:
    (question,) = read_published(official(tmp_path / "urban"))
    file = tmp_path / "mine" / "urban.jsonl"
    file.parent.mkdir()
    file.write_bytes(BOM_UTF8 + question.model_dump_json().encode())
    params = load_params(ROOT / "params.yaml")
    placed = imported(file.parent, None, 0).placed(
        Project(tmp_path), params, Results(tmp_path / "out")
    )
    assert placed.load_simulator("urban", tmp_path).name == "replay"
