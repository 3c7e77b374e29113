"""Sets of prompts: what every prompt begins with, and where a set's templates come from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jinja2 import Environment, meta

from simulrag.errors import InputError
from simulrag.models.prompts import SEPARATOR, Prompts, packaged_prompts

FILES = [
    file
    for file in sorted((Path(__file__).parents[3] / "prompts").glob("*/*.md.j2"))
    if not re.match(r'{% include "\w+\.md\.j2" %}', file.read_text())  # begins as another task's
]
OF_A_STAGE = {"handbook", "sources", "tolerance", "set_up", "asked", "kind", "count", "words"}
OF_A_STAGE |= {"form", "level"}
"""What may stand in the system part: the same for every question of a stage, or of few values."""
ORDER = ["question", "reference", "answer", "evidence", "existing", "new", "claims", "claim"]
"""What several calls of a question share comes before what differs between them."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_the_system_part_is_the_same_for_every_question(file: Path) -> None:
    parts = file.read_text().split(SEPARATOR)
    if len(parts) == 1:
        assert file.name == "repair.md.j2"  # stands at the end of a conversation
        return
    assert meta.find_undeclared_variables(Environment().parse(parts[0])) <= OF_A_STAGE
    if "<handbook>" in parts[0]:  # after the task's rules, and last
        assert parts[0].rstrip().endswith("</handbook>")
    tags = [tag for tag in re.findall(r"^<(\w+)>$", parts[1], re.M) if tag in ORDER]
    if "existing" not in tags:  # the two lists of a merge are both its own
        assert tags == sorted(tags, key=ORDER.index)


def test_two_questions_share_the_prefix_with_the_handbook() -> None:
    prompts = packaged_prompts()
    for task in ("boundary", "boundary_batch", "tool_calls"):
        first, second = (
            prompts.render(task, handbook="H", question=q, claim=q, claims=[q], problems=[])
            for q in ("one", "two")
        )
        assert first[0] == second[0]
        assert first[0].role == "system"
        assert first[1] != second[1]


def test_a_set_adds_and_overrides_by_name(tmp_path: Path) -> None:
    for place, text in (
        ("common/verify", "common verify"),
        ("common/final", "common final"),
        ("first/final", "first final"),
        ("second/label", "Be brief.\n=== user\nlabel {{ claim }}"),
    ):
        file = tmp_path / f"{place}.md.j2"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    first, second = Prompts(tmp_path), Prompts(tmp_path, set="second")
    assert (first.tasks(), second.tasks()) == (["final", "verify"], ["final", "label", "verify"])
    assert first.render("final")[0].content == "first final"
    assert second.render("final")[0].content == "common final"
    assert [m.content for m in second.render("label", claim="C")] == ["Be brief.", "label C"]
    with pytest.raises(InputError, match=r"no prompt 'label\.md\.j2'.*there are: final, verify"):
        first.render("label", claim="C")
    with pytest.raises(InputError, match=r"no set of prompts 'third'.*there are: first, second"):
        Prompts(tmp_path, set="third")
