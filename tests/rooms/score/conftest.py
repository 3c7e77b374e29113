"""The finished project of the integration tests, and the small simulator of those of questions."""

from tests.integration.conftest import finished
from tests.unit.questions.conftest import corridor, template

__all__ = ["corridor", "finished", "template"]
