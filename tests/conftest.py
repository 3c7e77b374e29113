"""Fixtures that several folders of tests share."""

from tests.finished import finished
from tests.integration.terminal import terminal_in
from tests.recorded import replayed

__all__ = ["finished", "replayed", "terminal_in"]
