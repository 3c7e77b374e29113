"""``simulrag label``: claims out, labels back, and nothing half-written."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from simulrag.judging.people.store import LabelStore

from flows.files import read_records, write_records, write_table
from flows.project import Project
from simulrag.judging.people.labels import in_order
from simulrag.records import HumanLabel, Label
from tests.integration.projects import ROOT, run
from tests.unit.metrics.people import annotation, given
from tests.unit.metrics.synthetic import study

COMMAND = (sys.executable, "-m", "flows.cli.app", "label")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project after its label stage."""
    made = Project(tmp_path)
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params | {"domains": ["urban"]}))
    place = made.results
    data = study(6)
    place.benchmark("urban").parent.mkdir(parents=True)
    write_records(place.benchmark("urban"), data.questions)
    write_records(place.answers("urban"), data.answers)
    write_table(place.labels("urban"), data.labels, Label)
    return made


def label(project: Project, *arguments: str, check: bool = True) -> Any:
    return run(project.root, *COMMAND, *arguments, check=check, PYTHONPATH=str(ROOT))


def annotated(project: Project, count: int, *by: int) -> list[dict[str, Any]]:
    label(project, "export", "--sample", str(count))
    tasks = json.loads((project.results.label_studio / "tasks.json").read_text())
    assert len(tasks) == count
    return [
        {"id": n, **task, "annotations": [annotation(person, "true") for person in by]}
        for n, task in enumerate(tasks)
    ]


def test_label_studio_there_and_back(project: Project, tmp_path: Path) -> None:
    exported = annotated(project, 5, 1, 2)
    assert (project.results.label_studio / "config.xml").read_text().startswith("<View>")
    file = tmp_path / "export.json"
    file.write_text(json.dumps(exported))
    done = label(project, "import", str(file))
    assert "10 labels of 5 claims -> data/labels/human.jsonl; 0 left out" in done.stdout
    labels = read_records(project.results.human_labels, HumanLabel)
    assert len(labels) == 10
    assert labels == in_order(labels)
    before = project.results.human_labels.read_bytes()
    label(project, "import", str(file))
    assert project.results.human_labels.read_bytes() == before


@pytest.mark.parametrize("problem", ["twice", "unknown", "malformed"])
def test_a_bad_import_changes_nothing(project: Project, tmp_path: Path, problem: str) -> None:
    exported = annotated(project, 3, 1)
    file = tmp_path / "export.json"
    file.write_text(json.dumps(exported))
    label(project, "import", str(file))
    before = project.results.human_labels.read_bytes()
    if problem == "twice":
        exported[2]["annotations"].append(annotation(1, "false", 2))
        message = "is labelled twice by 'label-studio-1'"
    elif problem == "unknown":
        exported[2]["data"]["question_id"] = "nobody"
        message = "1 of 3 labels are of claims that these answers do not have"
    else:
        exported[2]["annotations"][0]["result"] = "true"
        message = "task 3: annotations.0.result"
    file.write_text(json.dumps(exported))
    done = label(project, "import", str(file), check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert project.results.human_labels.read_bytes() == before
    if problem == "unknown":
        done = label(project, "import", str(file), "--drop-unknown")
        assert "2 labels of 2 claims" in done.stdout
        assert "1 left out" in done.stdout


def test_serve_saves_and_import_reads_its_file(project: Project) -> None:
    with subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--sample", "4"],
        cwd=project.root,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        first = server.stdout.readline()
        assert first.startswith("4 claims to label: http://127.0.0.1:")
        host = first.split("//")[1].strip().rstrip("/")
        connection = http.client.HTTPConnection(host, timeout=10)
        connection.request("GET", "/claims")
        claims = json.loads(connection.getresponse().read())["claims"]
        assert len(claims) == 4
        body = {"annotator": "ann", "label": "false", "expected": None}
        for claim in claims:
            key = {name: claim[name] for name in ("question_id", "claim_hash")}
            headers = {"Origin": f"http://{host}", "Content-Type": "application/json"}
            connection.request("POST", "/label", json.dumps({**body, **key}), headers)
            reply = connection.getresponse()
            assert reply.status == 200, reply.read()
            reply.read()
        connection.close()
        server.send_signal(signal.SIGINT)
        rest = server.stdout.read()
        assert "every label is saved" in rest
    assert server.returncode == 0
    done = label(project, "import", "data/labels/human.sqlite")
    assert "4 labels of 4 claims" in done.stdout
    assert {one.label for one in read_records(project.results.human_labels, HumanLabel)} == {
        "false"
    }


def test_labels_from_two_files_may_not_repeat(project: Project, tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_text(json.dumps(annotated(project, 1, 1)))
    (task,) = json.loads(file.read_text())
    store = LabelStore(tmp_path / "other.sqlite")
    row = given("label-studio-1", "true", task["data"]["claim"], task["data"]["question_id"])
    store.save(row, None)
    done = label(project, "import", str(file), str(store.path), check=False)
    assert done.returncode == 2
    assert "labelled twice" in done.stderr
    assert not project.results.human_labels.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("import", "nowhere.json"), "nowhere.json cannot be read"),
        (("export", "--sample", "0"), "a sample of 0 claims is impossible"),
        (("export", "--domain", "ubran"), "did you mean 'urban'"),
    ],
)
def test_mistakes_are_one_line(project: Project, arguments: tuple[str, ...], message: str) -> None:
    done = label(project, *arguments, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
