"""What one run of a stage took from the cache, and from which versions of which models."""

from __future__ import annotations

import logging
from collections import Counter

from simulrag.calls.keys import CallKind
from simulrag.calls.stored import StageRun, StoredCall

log = logging.getLogger(__name__)

ModelName = tuple[str, str, str]


def model_name(call: StoredCall) -> ModelName:
    """Provider, endpoint and model of a model call, "" where its request does not name one."""
    provider, endpoint, model = (
        str(call.request.get(name) or "") for name in ("provider", "endpoint", "model")
    )
    return provider, endpoint, model


class Tally:
    """Hits and misses by kind; warns once about a model that answers in several versions."""

    def __init__(self) -> None:
        self._hits: Counter[CallKind] = Counter()
        self._misses: Counter[CallKind] = Counter()
        self._versions: dict[ModelName, set[str]] = {}

    @property
    def hits(self) -> int:
        """Of both kinds."""
        return self._hits.total()

    @property
    def misses(self) -> int:
        """Of both kinds."""
        return self._misses.total()

    def hit(self, kind: CallKind) -> None:
        """Count an answer for which nothing was paid."""
        self._hits[kind] += 1

    def miss(self, kind: CallKind) -> None:
        """Count a call that is being made."""
        self._misses[kind] += 1

    def postponed(self, kind: CallKind) -> None:
        """A call that was to be made waits for a batch instead."""
        self._misses[kind] -= 1

    def version(self, call: StoredCall) -> None:
        """Note which version of its model answered a call."""
        if call.kind != "model" or not call.model_version:
            return
        name = model_name(call)
        seen = self._versions.setdefault(name, set())
        if call.model_version in seen:
            return
        seen.add(call.model_version)
        if len(seen) == 2:
            log.warning(
                "%s answered in several versions (%s): the results mix them. Mode refresh asks "
                "everything again",
                "/".join(part for part in name if part) or "a model",
                ", ".join(sorted(seen)),
            )

    def adopt(self, run: StageRun) -> None:
        """Add what another process counted."""
        self._hits.update(model=run.model_hits, simulator=run.simulator_hits)
        self._misses.update(model=run.model_misses, simulator=run.simulator_misses)

    def counts(self) -> dict[str, int]:
        """Hits and misses, together and by kind."""
        return {
            "hits": self.hits,
            "misses": self.misses,
            "model_hits": self._hits["model"],
            "model_misses": self._misses["model"],
            "simulator_hits": self._hits["simulator"],
            "simulator_misses": self._misses["simulator"],
        }
