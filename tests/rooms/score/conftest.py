"""The small simulator of the tests of questions."""

from tests.unit.questions.conftest import corridor, template

__all__ = ["corridor", "template"]
