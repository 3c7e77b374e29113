"""Fixtures of the core's tests that the room's use too."""

from tests.unit.questions.conftest import corridor, make_corridor, template

__all__ = ["corridor", "make_corridor", "template"]
