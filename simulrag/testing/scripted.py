"""A model whose replies the test writes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, JsonValue

from simulrag.errors import ReplyInvalid
from simulrag.models.base import Completion, Message, ProviderReply, Sampling
from simulrag.models.providers.base import Provider
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage
from simulrag.task import Task

SETTINGS = ModelSettings(provider="scripted", model="scripted")
USED = Usage(calls=1, input_tokens=10, output_tokens=2)


class ScriptedModel(Provider):
    """Says its replies in turn: a text, what JSON holds, or an error to raise.

    A step asks it as it asks a gateway (``ask``): a reply that does not fit the step's schema or
    check is ReplyInvalid, as after a repair. A gateway calls it as any provider (``call``). In
    place of the replies in turn, ``by_task`` gives the reply to a task and its values.

    ``asked`` holds what ``ask`` was given, the task and the sample index among it; ``sent`` the
    messages of each ``call`` and ``schemas`` the schemas. ``most_under_way`` is how many calls
    there were at a time, each ``delay_s`` seconds long; ``closed`` whether it was closed.
    """

    name = "scripted"

    def __init__(
        self,
        *replies: object,
        by_task: Callable[[str, dict[str, object]], object] | None = None,
        delay_s: float = 0.0,
        settings: ModelSettings = SETTINGS,
        usage: Usage = USED,
    ) -> None:
        super().__init__(settings)
        self.replies = list(replies)
        self.by_task = by_task
        self.delay_s = delay_s
        self.usage = usage
        self.asked: list[dict[str, object]] = []
        self.sent: list[tuple[Message, ...]] = []
        self.schemas: list[dict[str, JsonValue] | None] = []
        self.under_way = 0
        self.most_under_way = 0
        self.closed = False

    async def ask(
        self,
        task: Task,
        *,
        sample_index: int = 0,
        check: Callable[[Any], None] | None = None,
        **values: object,
    ) -> Completion:
        """See Asker.ask."""
        self.asked.append({"task": task.name, "sample_index": sample_index, **values})
        if self.by_task is None:
            reply = self.replies.pop(0)
        else:
            reply = self.by_task(task.name, {"sample_index": sample_index, **values})
        if isinstance(reply, Exception):
            raise reply
        try:
            parsed = None if task.reply is None else task.reply.model_validate(reply)
            if check is not None:
                check(reply if parsed is None else parsed)
        except ValueError as error:
            parsed = getattr(error, "kept", None)
            if parsed is None:
                raise ReplyInvalid(f"'{task.name}': {error}") from None
        return Completion(_text(reply), parsed, self.usage, "scripted-1", cached=False)

    async def call(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,  # noqa: ARG002 the script decides
        sample_index: int,  # noqa: ARG002
    ) -> ProviderReply:
        """See Provider.call."""
        self.sent.append(tuple(messages))
        self.schemas.append(schema)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(self.delay_s)
        finally:
            self.under_way -= 1
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return ProviderReply(text=_text(reply), usage=self.usage, model_version="scripted-1")

    async def close(self) -> None:
        """Note that it was closed."""
        self.closed = True


def _text(reply: object) -> str:
    if isinstance(reply, BaseModel):
        return reply.model_dump_json()
    return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
