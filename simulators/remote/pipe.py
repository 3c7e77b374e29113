"""An MCP server as a process of ours: its lines bounded in size, its last words kept.

The SDK's own transport reads a line of any length; here a reply above the limit ends the server.
"""

from __future__ import annotations

import asyncio
import atexit
import codecs
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from simulators.remote.errors import ReplyTooLarge, ServiceReplyInvalid

GRACE_S = 2.0
LAST_WORDS = 2000
_POLL_S = 0.01
_STARTED: set[asyncio.subprocess.Process] = set()


@atexit.register
def _end_all() -> None:
    """No server outlives us: the loop that ends them politely is gone when the interpreter ends."""
    for process in _STARTED:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)


@asynccontextmanager
async def process_streams(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: str | None,
    max_bytes: int,
    failed: Callable[[Exception], None],
    last_words: bytearray,
) -> AsyncIterator[Any]:
    """The streams of a server's process, for the SDK's client; the process ends with them.

    ``failed`` hears of a reply above ``max_bytes``; ``last_words`` gets the end of its stderr.
    Raises OSError where the command cannot be started.
    """
    import anyio
    from mcp.client.stdio import get_default_environment
    from mcp.shared.message import SessionMessage

    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**get_default_environment(), **environment},
        cwd=folder,
        limit=max_bytes,
        start_new_session=True,
    )
    _STARTED.add(process)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    into, incoming = anyio.create_memory_object_stream[Any](0)
    outgoing, out_of = anyio.create_memory_object_stream[Any](0)

    async def read() -> None:
        try:
            while line := await stdout.readline():
                if (message := _message(line, failed)) is not None:
                    await into.send(SessionMessage(message))
        except ValueError:
            failed(
                ReplyTooLarge(
                    f"more than {max_bytes / 1e6:g} MB in one message; raise max_mb or ask for less"
                )
            )
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
            pass
        finally:
            await into.aclose()

    async def write() -> None:
        try:
            async for one in out_of:
                text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(text.encode() + b"\n")
                await stdin.drain()
        except (anyio.ClosedResourceError, ConnectionError, OSError):
            await into.aclose()

    async def listen() -> None:
        while words := await stderr.read(4096):
            last_words.extend(words)
            del last_words[:-LAST_WORDS]

    tasks = [asyncio.create_task(work()) for work in (read, write, listen)]
    try:
        yield incoming, outgoing
    finally:
        await asyncio.shield(_end(process))
        _STARTED.discard(process)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (into, incoming, outgoing, out_of):
            stream.close()


def _message(line: bytes, failed: Callable[[Exception], None]) -> Any:
    """The message in a line; None for a line of a log, and for a reply that cannot be read.

    Of that ``failed`` hears, as its call would wait for it in vain.
    """
    from mcp_types import jsonrpc_message_adapter

    line = line.removeprefix(codecs.BOM_UTF8).strip()
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        why = _unreadable(line)
    if why:
        failed(ServiceReplyInvalid(f"it sent a reply that cannot be read: {why}"))
    return None


def _unreadable(line: bytes) -> str:
    """Why a line that is no message was meant as a reply; "" where it was not."""
    if not line.startswith(b"{") or b'"jsonrpc"' not in line[:200]:
        return ""
    try:
        read = json.loads(line)
    except RecursionError:
        return "it is nested too deep"
    except ValueError as error:
        return f"it is not JSON ({error})"
    replies = {"result", "error"} & read.keys() and isinstance(read.get("id"), int | str)
    return "it is no reply as MCP has it" if replies else ""


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close its input, wait, then end it and what it started."""
    if process.stdin is not None:
        process.stdin.close()
    for word in (None, signal.SIGTERM, signal.SIGKILL):
        if word is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, word)
        # Not process.wait(): that waits for the ends of pipes too, which a full one never has.
        for _ in range(int(GRACE_S / _POLL_S)):
            if process.returncode is not None:
                break
            await asyncio.sleep(_POLL_S)
        else:
            continue
        break
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # what it started and left in its group
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
