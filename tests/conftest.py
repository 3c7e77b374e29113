"""Fixtures that several folders of tests share."""

from tests.finished import finished
from tests.recorded import replayed

__all__ = ["finished", "replayed"]
