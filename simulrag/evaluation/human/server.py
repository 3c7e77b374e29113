"""The labelling page's server: this machine alone, this page alone.

It listens on 127.0.0.1. A name that was made to resolve to this machine (DNS rebinding) fails the
check of ``Host``; another site's page fails the check of ``Origin``, without which nothing is
saved. The page itself may load nothing from elsewhere and stand in no frame.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any
from urllib.parse import parse_qs, urlsplit

from simulrag.errors import EnvironmentFault, InputError, SimulRAGError
from simulrag.evaluation.human.session import Session
from simulrag.evaluation.human.store import Conflict

HOST = "127.0.0.1"
_FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
}
_LONGEST_BODY = 65_536
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class LabelServer(ThreadingHTTPServer):
    """Serves one session until ``shutdown``; ``address`` is what a browser opens."""

    daemon_threads = True

    def __init__(self, session: Session, port: int) -> None:
        """Bind to ``port`` (0: any free one). Raises EnvironmentFault where it is taken."""
        self.session = session
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise EnvironmentFault(
                f"port {port} of {HOST} cannot be used ({error.strerror}): name another by --port"
            ) from None
        names = [f"{name}:{self.server_port}" for name in (HOST, "localhost")]
        self.hosts = frozenset(names)
        self.origins = frozenset(f"http://{name}" for name in names)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing where a page was closed before its answer came: that is ordinary use."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/"


class _Refused(Exception):  # noqa: N818 an answer, not a fault
    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: LabelServer
    protocol_version = "HTTP/1.1"
    server_version = "simulrag"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def log_message(self, format: str, *args: object) -> None:
        """No line a click on the terminal."""

    def _answer(self, route: Callable[[], tuple[bytes, str]]) -> None:
        try:
            if self.headers.get("Host") not in self.server.hosts:
                raise _Refused(HTTPStatus.FORBIDDEN, "open this page as " + self.server.address)
            content, kind = route()
            self._send(HTTPStatus.OK, content, kind)
        except _Refused as refused:
            self._fail(refused.status, str(refused))
        except Conflict as error:
            self._fail(HTTPStatus.CONFLICT, str(error))
        except InputError as error:
            self._fail(HTTPStatus.BAD_REQUEST, str(error))
        except SimulRAGError as error:
            self._fail(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))

    def _get(self) -> tuple[bytes, str]:
        url = urlsplit(self.path)
        if url.path in _FILES:
            name, kind = _FILES[url.path]
            folder = resources.files("simulrag.evaluation.human")
            return folder.joinpath(name).read_bytes(), kind
        if self.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            raise _Refused(HTTPStatus.FORBIDDEN, "only the labelling page may ask for this")
        if url.path == "/claims":
            return _json(self.server.session.claims())
        if url.path == "/state":
            (annotator,) = parse_qs(url.query).get("annotator", [""])[:1]
            return _json(self.server.session.state(annotator))
        raise _Refused(HTTPStatus.NOT_FOUND, f"there is no {url.path}")

    def _post(self) -> tuple[bytes, str]:
        # A body left unread would be taken for the next request.
        self.close_connection = True
        if self.headers.get("Origin") not in self.server.origins:
            raise _Refused(HTTPStatus.FORBIDDEN, "only the labelling page may save labels")
        if self.path != "/label":
            raise _Refused(HTTPStatus.NOT_FOUND, f"there is no {self.path}")
        if self.headers.get_content_type() != "application/json":
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send JSON")
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "send the length of the body")
        if int(length) > _LONGEST_BODY:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "a label is shorter than that")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise InputError("the request is no valid JSON") from None
        self.close_connection = False
        return _json(self.server.session.save(body))

    def _fail(self, status: HTTPStatus, text: str) -> None:
        content, kind = _json({"error": text})
        self._send(status, content, kind)

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)


def _json(value: object) -> tuple[bytes, str]:
    return json.dumps(value, ensure_ascii=False).encode(), "application/json; charset=utf-8"
