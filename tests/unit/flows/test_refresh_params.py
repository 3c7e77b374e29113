"""What DVC writes into params.yaml for a refresh, it can read again."""

from __future__ import annotations

from pathlib import Path

from ruamel.yaml import YAML

from flows.refresh.experiment import quote


def test_an_address_in_braces_stays_in_quotes(tmp_path: Path) -> None:
    from dvc.utils.serialize import load_yaml, modify_yaml

    text = """llm:
  answer: {model: m, base_url: "http://127.0.0.1:8000/v1"}
cron: "0 3 * * 1"
benchmark:
  seed: 1
"""
    path = tmp_path / "params.yaml"
    path.write_text(text)
    with modify_yaml(str(path)) as data:
        data["benchmark"]["seed"] = 2
        data["llm"]["answer"]["base_url"] = "http://127.0.0.1:8000/v1"  # as DVC puts it back
        quote(data)
    assert load_yaml(str(path)) == {**YAML(typ="safe").load(text), "benchmark": {"seed": 2}}
