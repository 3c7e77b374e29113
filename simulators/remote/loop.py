"""The one event loop of all remote simulators, in a thread of its own: calls come from threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import lru_cache
from typing import Any, TypeVar

Result = TypeVar("Result")


@lru_cache(maxsize=1)
def event_loop() -> asyncio.AbstractEventLoop:
    """The loop, which runs from its first use to the end of the process."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="remote-simulators", daemon=True).start()
    return loop


def on_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """What the work gives, waited for in the caller's thread."""
    return asyncio.run_coroutine_threadsafe(work, event_loop()).result()
