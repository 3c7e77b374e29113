"""A proxy that answers for a public host: what a program sends there lands at a server of ours.

The program is told of it as of any proxy (HTTPS_PROXY, and SSL_CERT_FILE for its certificate), so
that its code, its URLs and its TLS are those of every day.
"""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from tests.servers.certificates import write_certificate

TIMEOUT_S = 60.0


class TlsProxy:
    """Forwards what comes for ``host`` to ``target`` (http); every other host is refused.

    A context manager. ``environment`` is what leads a program here; ``refused`` lists the hosts
    that it asked for besides.
    """

    def __init__(self, host: str, target: str, folder: Path) -> None:
        parts = urlsplit(target)
        self._host = host
        self._target = (parts.hostname or "", parts.port or 80)
        self.refused: list[str] = []
        certificate = folder / "proxy.pem"
        write_certificate(certificate, host)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificate)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.environment = {
            "HTTPS_PROXY": f"http://127.0.0.1:{port}",
            "SSL_CERT_FILE": str(certificate),
        }

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener is closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(TIMEOUT_S)
        head = b""
        while b"\r\n\r\n" not in head:
            more = client.recv(4096)
            if not more:
                return
            head += more
        method, address = head.split(b" ", 2)[:2]
        host = address.decode().rpartition(":")[0]
        if method != b"CONNECT" or host != self._host:
            self.refused.append(host or address.decode())
            client.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")
            client.close()
            return
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with suppress(OSError):
            inner = self._tls.wrap_socket(client, server_side=True)
            server = socket.create_connection(self._target, timeout=TIMEOUT_S)
            threading.Thread(target=_pump, args=(server, inner), daemon=True).start()
            _pump(inner, server)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Copy bytes until the source ends, then end the sink."""
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
