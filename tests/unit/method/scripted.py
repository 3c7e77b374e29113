"""An Asker whose replies the test writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from simulrag.errors import ModelError
from simulrag.models.base import Completion
from simulrag.records import Usage


class Scripted:
    """Replies in turn; a reply that its step refuses is an error, as after a repair attempt."""

    def __init__(self, *replies: object) -> None:
        self.replies = list(replies)
        self.asked: list[dict[str, object]] = []

    async def ask(
        self,
        task: str,
        schema: type[BaseModel] | None = None,
        *,
        sample_index: int = 0,
        check: Callable[[Any], None] | None = None,
        **values: object,
    ) -> Completion:
        self.asked.append({"task": task, "sample_index": sample_index, **values})
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        parsed = None if schema is None else schema.model_validate(reply)
        if check is not None:
            try:
                check(parsed)
            except ValueError as error:
                raise ModelError(str(error)) from None
        text = reply if isinstance(reply, str) else ""
        return Completion(text, parsed, Usage(calls=1, input_tokens=10), "scripted", False)
