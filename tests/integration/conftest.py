"""Fixtures that the tests of batches share."""

from tests.integration.batches import planted_key, server

__all__ = ["planted_key", "server"]
