"""``simulrag models check``: a tiny call a model, and each failure beside the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.cli.models import ModelCheck, check_models, check_text
from flows.project import Project
from simulrag.testing import LoopbackServer, canned
from simulrag.testing.loopback import Act

ROOT = Path(__file__).parents[3]
KEY = "sk-planted-4f1d9b7c2e"
ANSWERS = canned({"Verbalized": '{"probability": 1.0}', None: "Seven."})
REFUSED = Act(
    kind="status",
    status=400,
    body={
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "`temperature` is deprecated for this model.",
        },
    },
)


def project(folder: Path, **roles: dict[str, Any]) -> Project:
    """A project of three roles, replayed where nothing else is said."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    replayed = {"provider": "anthropic", "model": "claude", "replay": True}
    params["llm"] = dict.fromkeys(("benchmark", "answer", "judge"), replayed) | roles
    (folder / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    (folder / "prices.yaml").write_bytes((ROOT / "prices.yaml").read_bytes())
    (folder / "prompts").symlink_to(ROOT / "prompts")
    return Project(folder)


def checked(project: Project) -> list[ModelCheck]:
    rows = check_models(project)
    assert KEY not in "".join([*map(check_text, rows), *map(str, rows)])
    return rows


def test_each_model_once_and_each_failure_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_KEY", KEY)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with LoopbackServer(ANSWERS) as good, LoopbackServer(ANSWERS, [REFUSED] * 9) as strict:
        mine = {"provider": "openai", "model": "gpt-5-mini", "base_url": good.url}
        theirs = {"provider": "anthropic", "model": "claude-sonnet-5", "base_url": strict.url}
        made = project(
            tmp_path,
            benchmark={**mine, "paid": True, "api_key_env": "PLANTED_KEY"},
            answer={**theirs, "sampling": {"temperature": 0.0}},
            judge={"provider": "openai", "model": "gpt-5"},
        )
        first, second, third = checked(made)
        assert (len(good.requests), len(strict.requests)) == (1, 1)
        again = checked(made)
        assert len(good.requests) == 2  # always a call of its own
    assert first.roles == ("benchmark",)
    assert first.structured
    assert "s a call" in check_text(first)
    assert "temperature" in second.problem
    assert "OPENAI_API_KEY" in third.problem
    assert [bool(row.problem) for row in again] == [False, True, True]
    stored = b"".join(file.read_bytes() for file in tmp_path.rglob("*.db*"))
    assert stored
    assert KEY.encode() not in stored


@pytest.mark.parametrize("answer", ["perhaps", '{"probability": "high"}'])
def test_a_server_without_structured_output_is_found_out(tmp_path: Path, answer: str) -> None:
    with LoopbackServer(canned({"Verbalized": answer})) as server:
        model = {"provider": "openai", "model": "m", "base_url": server.url}
        (row,) = checked(project(tmp_path, benchmark=model, answer=model, judge=model))
    assert row.roles == ("benchmark", "answer", "judge")
    assert row.reached
    assert row.structured is False


def test_what_is_only_replayed_is_not_asked(tmp_path: Path) -> None:
    assert checked(project(tmp_path)) == []
