"""A language backend made of rules: no network, no key, no weights (see docs/offline-model.md)."""

from simulrag.models.offline.provider import OfflineProvider

__all__ = ["OfflineProvider"]
