"""Fixtures that several rooms share."""

from tests.recorded import replayed

__all__ = ["replayed"]
