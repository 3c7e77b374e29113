"""What somebody else wrote reaches no terminal as a command."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from flows.watch.tracking import Guarded
from tests.integration.projects import SIMULRAG, environment_of

ROOT = Path(__file__).resolve().parents[3]
ATTACKS = {
    "title": "\x1b]0;owned\x07",
    "clear": "\x1b[2J\x1b[H",
    "link": "\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "eight bits": "\x9b2J\x9d0;owned\x9c",
    "overwritten": "error: bad\rall is well",
    "rubbed out": "bad\b\b\bfine",
    "half a pair": "\ud800",
}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS)
@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_no_command_reaches_it(stream: type[io.StringIO], text: str) -> None:
    below = stream()
    print(f"a\t{text}b", file=Guarded(below))  # type: ignore[call-overload]
    shown = below.getvalue()
    assert shown.startswith("a\t")
    assert shown.endswith("b\n")
    assert all(letter.isprintable() for letter in shown[2:-1])


def test_colours_reach_a_terminal_and_no_file() -> None:
    below, file = Terminal(), io.StringIO()
    for stream in (below, file):
        print("\x1b[1;31mred\x1b[0m", file=Guarded(stream))  # type: ignore[call-overload]
    assert below.getvalue() == "\x1b[1;31mred\x1b[0m\n"
    assert file.getvalue() == "\ufffdred\ufffd\n"


def test_a_service_and_a_name_are_shown_in_words(tmp_path: Path) -> None:
    evil = "".join(ATTACKS.values()).replace("\ud800", "")
    (tmp_path / "rivers.py").write_text(SERVER.format(evil=evil))
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    settings = {"command": [sys.executable, "rivers.py"], "folder": str(tmp_path)}
    params["simulators"]["rivers"] = {"name": "mcp", "settings": settings}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    for command in (("handbook", "rivers"), ("simulate", "rivers", evil), ("ask", evil)):
        done = subprocess.run(
            (*SIMULRAG, *command),
            cwd=tmp_path,
            env=environment_of(tmp_path, PYTHONPATH=str(ROOT)),
            capture_output=True,
            check=False,
        )
        said = (done.stdout + done.stderr).decode()
        assert "Rivers" in said or done.returncode == 2
        assert [
            letter for letter in said if not letter.isprintable() and letter not in "\n\t"
        ] == []


SERVER = """
from mcp.server.mcpserver import MCPServer

evil = {evil!r}
server = MCPServer("Rivers" + evil, version="1", instructions=evil)
server.tool(name="level", description=evil)(lambda: "1.5 m")
server.run()
"""
