"""What one question used, task by task, and how long a prompt can be at most."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import JsonValue

from simulrag.models.base import Asker, Completion, Message
from simulrag.records import Usage
from simulrag.task import Task

FRAME_TOKENS = 1024
"""What providers add to a prompt by themselves, at most: instructions for the use of a tool."""

MESSAGE_TOKENS = 16


def longest_prompt(messages: Sequence[Message], schema: dict[str, JsonValue] | None) -> int:
    """An upper bound of a prompt's tokens for any tokenizer that knows no more than its bytes.

    Byte-level tokenizers make one token of each byte at worst; English text has about four.
    """
    size = sum(len(message.content.encode()) + MESSAGE_TOKENS for message in messages)
    described = 0 if schema is None else len(json.dumps(schema, ensure_ascii=False).encode())
    return size + described + FRAME_TOKENS


class Counted:
    """An Asker that sums usage by task, for calls paid now and calls paid before alike."""

    def __init__(self, asker: Asker, usage: dict[str, Usage] | None = None) -> None:
        self._asker = asker
        self.usage: dict[str, Usage] = dict(usage or {})

    async def ask(
        self,
        task: Task,
        *,
        sample_index: int = 0,
        check: Callable[[Any], None] | None = None,
        **values: object,
    ) -> Completion:
        """See Asker.ask."""
        completion = await self._asker.ask(task, sample_index=sample_index, check=check, **values)
        self.usage[task.name] = self.usage.get(task.name, Usage()) + completion.usage
        return completion
