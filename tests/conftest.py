"""Fixtures that several folders of tests share, and a word where params.yaml was changed."""

import subprocess

import pytest

from tests.finished import finished
from tests.integration.terminal import terminal_in
from tests.recorded import ROOT, replayed

__all__ = ["finished", "replayed", "terminal_in"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Where tests failed, say that params.yaml was changed: `simulrag use` does."""
    asked = ["git", "status", "--porcelain", "--", "params.yaml"]
    if exitstatus and subprocess.run(asked, cwd=ROOT, capture_output=True, check=False).stdout:
        terminalreporter.write_line(
            "params.yaml was changed, and tests of the recorded run read it: `git checkout "
            "params.yaml` brings that run back"
        )
