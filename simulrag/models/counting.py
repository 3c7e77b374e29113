"""What one question used, task by task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from simulrag.models.base import Asker, Completion
from simulrag.records import Usage


class Counted:
    """An Asker that sums usage by task, for calls paid now and calls paid before alike."""

    def __init__(self, asker: Asker, usage: dict[str, Usage] | None = None) -> None:
        self._asker = asker
        self.usage: dict[str, Usage] = dict(usage or {})

    async def ask(
        self,
        task: str,
        schema: type[BaseModel] | None = None,
        *,
        sample_index: int = 0,
        check: Callable[[Any], None] | None = None,
        **values: object,
    ) -> Completion:
        """See Asker.ask."""
        completion = await self._asker.ask(
            task, schema, sample_index=sample_index, check=check, **values
        )
        self.usage[task] = self.usage.get(task, Usage()) + completion.usage
        return completion
