"""Serve stand-ins for a model's replies until interrupted, to try a pipeline without a key.

    python -m simulrag.testing --port 8123

Then `simulrag use http://127.0.0.1:8123/v1#stub` asks it. Its replies fit their schemas and one
another, and mean nothing.
"""

from __future__ import annotations

import argparse
import threading
from contextlib import suppress

from simulrag.testing.loopback import LoopbackServer, stand_in


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(
        prog="python -m simulrag.testing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=8123, help="0: any free one (default: 8123)")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each reply")
    given = parser.parse_args()
    try:
        server = LoopbackServer(stand_in(), port=given.port, latency_s=given.latency, log=False)
    except OSError as error:
        parser.error(f"port {given.port} cannot be used ({error.strerror}); choose another --port")
    with server:
        print(f"base_url: {server.url}", flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
