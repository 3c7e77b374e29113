"""Prefect's server on 127.0.0.1, for this machine's programs and its own pages alone.

Prefect's own command answers whoever reaches the port, and every web page that the user has open
reaches loopback: one that made its name point to 127.0.0.1 (DNS rebinding) could read runs and
start a refresh, others could post blindly or listen in over a web socket. A browser says in
``Host`` by what name it asks a server, and in ``Origin`` whose page asks with anything but a plain
reading; a page can forge neither. So both must be of this machine.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HERE = ("127.0.0.1", "localhost")
_REFUSED = "Only programs of this machine and this server's own pages are answered.\n"


def is_own(host: str, origin: str | None) -> bool:
    """Whether a request by this ``Host`` and ``Origin`` (None: none was sent) may be answered."""
    try:
        asked = urlsplit(f"//{host}")
        page = asked if origin is None else urlsplit(origin)
        return asked.hostname in HERE and page.hostname in HERE and page.port == asked.port
    except ValueError:  # no port number
        return False


class Guard:
    """ASGI middleware: a request that is not ``is_own`` ends with 403."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.datastructures import Headers
        from starlette.responses import PlainTextResponse
        from starlette.websockets import WebSocketClose

        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if is_own(headers.get("host", ""), headers.get("origin")):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
        else:
            await PlainTextResponse(_REFUSED, status_code=403)(scope, receive, send)


def main() -> None:
    """``python -m flows.watch.guarded --port N``, in the environment that ``flows.watch.server`` makes."""
    parser = argparse.ArgumentParser(
        description="Prefect's server, as flows.watch.server starts it."
    )
    parser.add_argument("--port", type=int, required=True)
    port: int = parser.parse_args().port
    import uvicorn
    from prefect.server.api.server import create_app
    from prefect.settings import get_current_settings

    settings = get_current_settings().server
    uvicorn.run(
        Guard(create_app(final=True)),
        host="127.0.0.1",
        port=port,
        timeout_keep_alive=settings.api.keepalive_timeout,
        log_level=settings.logging_level.lower(),
    )


if __name__ == "__main__":
    main()
