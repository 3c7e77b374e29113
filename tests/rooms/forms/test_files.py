"""Published tables, files of ours, and the formats of other evaluation tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rooms.forms.files import CLIMAQA, inspect_files, lm_eval_files, read_forms, read_table
from rooms.forms.records import ChoiceQuestion
from simulrag.errors import InputError
from tests.rooms.forms.making import MAKER, choice, cloze

RULE = "-" * 20
OPTIONS = f"a) by waves\n{RULE}\nb) by wind\n{RULE}\nc) by heat\n{RULE}\nd) by salt: (a) b"
HEAD = "Question,Options,Answer,Complexity,Validation\n"


def row(question: str, options: str = "", answer: str = "b", level: str = "", ok: str = "") -> str:
    return ",".join(f'"{cell}"' for cell in (question, options, answer, level, ok)) + "\n"


def write(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_a_published_table(tmp_path: Path) -> None:
    rows = row("How?", OPTIONS, "b", "REASONING", "True") + row(
        "Gone?", OPTIONS, "a", "BASE", "False"
    )
    rows += row("Why, then?", answer="Because.", level="HYPOTHETICAL")
    rows += row("The <MASK> wind, blows", answer="geostrophic")
    text = "\ufeff" + (HEAD + rows).replace("\n", "\r\n")  # as a spreadsheet saves it
    (first, second, third), invalid = read_table(write(tmp_path, text), "climaqa")
    assert isinstance(first, ChoiceQuestion)
    assert first.options == ("by waves", "by wind", "by heat", "by salt: (a) b")
    assert (first.answer_text, first.level, second.form, second.level) == (
        *("by wind", "reasoning", "freeform", "hypothetical"),
    )
    assert (third.text, third.answer_text, invalid) == ("The <MASK> wind, blows", "geostrophic", 1)


def test_a_file_of_other_columns(tmp_path: Path) -> None:
    lines = [
        {"q": "Which?", "o": ["w", "x", "y", "z"], "a": "y", "c": "A text."},
        {"q": "Why?", "a": "So.", "c": "A text."},
    ]
    path = write(tmp_path, "\n".join(map(json.dumps, lines)) + "\n", "mine.jsonl")
    columns = {"question": "q", "options": "o", "answer": "a", "context": "c"}
    (first, second), _ = read_table(path, "mine", columns)
    assert first.answer_text == "y"
    assert first.scenario_id == second.scenario_id
    assert first.contexts[0].text == "A text."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no question"),
        (HEAD, "holds no question"),
        (HEAD + row("Q?", OPTIONS, ok="False"), "holds no question"),
        (HEAD + row("", answer="x"), "row 1: column 'Question' is missing or empty"),
        (HEAD + row("Q?", answer=" "), "row 1: column 'Answer' is missing or empty"),
        ("Frage,Answer\nWarum?,So\n", "--columns question=COLUMN"),
        (HEAD + row("Q?", "a) x\nb) y\nc) z"), "row 1: options a, b, c; four are needed"),
        (HEAD + row("Q?", OPTIONS + "\ne) more"), "options a, b, c, d, e"),
        (HEAD + row("Q?", "a) x\nb) \nc) z\nd) w"), "four are needed"),
        (HEAD + row("Q?", "x, y, z, w"), "options without letters"),
        (HEAD + row("Q?", OPTIONS, "e"), "the answer 'e' is none of the options"),
        (HEAD + row("Q?", OPTIONS, "c or d"), "'c or d' is none of the options"),
        (HEAD + row("Q?", answer="x", level="HARD"), "'HARD' is no level"),
        (HEAD + row("<MASK> and <MASK>", answer="x"), "stands 2 times"),
        (HEAD + row("Q?", answer="x") * 2, "row 2: the same question as row 1"),
    ],
)
def test_a_table_that_cannot_be(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        read_table(write(tmp_path, text), "s", CLIMAQA)
    assert said in str(raised.value)


@pytest.mark.parametrize("answer", ["B", "b)", "(b)", "b.", "by wind"])
def test_letters_as_people_write_them(tmp_path: Path, answer: str) -> None:
    ((question,), _) = read_table(write(tmp_path, HEAD + row("Q?", OPTIONS, answer)), "s")
    assert question.answer_text == "by wind"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.jsonl", b"{not json}", "is not JSON"),
        ("t.jsonl", b"[1]", "an object a line"),
        ("t.jsonl", b'{"Question": "\\ud800?", "Answer": "x"}', "no text"),
        ("t.csv", b"\xff\xfe", "not UTF-8"),
        ("t.csv", b"Question,Answer\n" + b"x" * 150_000 + b",y\n", "is no CSV"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_table(tmp_path / name, "s")
    with pytest.raises(InputError, match="cannot be read"):
        read_table(tmp_path / "none.csv", "s")
    with pytest.raises(InputError, match="no part of a question"):
        read_table(tmp_path / name, "s", {"questoin": "q"})


def test_files_of_ours_come_back_as_they_were(tmp_path: Path) -> None:
    asked = [choice(), cloze(), MAKER.freeform("base", "Why?", "So.")]
    text = "".join(one.model_dump_json() + "\n" for one in asked)
    assert read_forms(write(tmp_path, text)) == asked
    for bad, said in ((text + text, "stands twice"), ("", "no question"), ("{}\n", "form")):
        with pytest.raises(InputError, match=said):
            read_forms(write(tmp_path, bad))


def test_exports_name_what_the_tools_read() -> None:
    asked = [choice(), cloze(), MAKER.freeform("base", "Why?", "So.")]
    files = lm_eval_files(asked, "notes", "exported")
    task = json.loads(files["notes_choice.yaml"])  # YAML that is JSON as well
    assert task["dataset_kwargs"]["data_files"]["test"] == "exported/choice.jsonl"
    data = json.loads(files["choice.jsonl"])
    assert data["options"][data["answer"]] == "The lapse rate"
    samples = {name: json.loads(text) for name, text in inspect_files(asked, "notes").items()}
    first = samples["notes-choice.jsonl"]
    assert first["choices"]["ABCD".index(first["target"])] == "The lapse rate"
    assert samples["notes-cloze.jsonl"]["target"] == "Ozone"
    assert set(lm_eval_files(asked[:1], "notes", "x")) == {"notes_choice.yaml", "choice.jsonl"}


def test_lm_evaluation_harness_loads_the_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = pytest.importorskip("lm_eval.tasks", reason="lm_eval is not installed")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    asked = [choice(), cloze(), MAKER.freeform("base", "Why?", "So.")]
    for name, text in lm_eval_files(asked, "notes", str(tmp_path)).items():
        write(tmp_path, text, name)
    manager = tasks.TaskManager(include_path=str(tmp_path), include_defaults=False)
    task = manager.load("notes_choice")["tasks"]["notes_choice"]
    document = next(iter(task.test_docs()))
    assert task.doc_to_choice(document)[task.doc_to_target(document)] == "The lapse rate"


def test_inspect_loads_the_samples(tmp_path: Path) -> None:
    dataset = pytest.importorskip("inspect_ai.dataset", reason="inspect_ai is not installed")
    for name, text in inspect_files([choice()], "notes").items():
        (sample,) = dataset.json_dataset(str(write(tmp_path, text, name)))
        assert sample.choices["ABCD".index(sample.target)] == "The lapse rate"
