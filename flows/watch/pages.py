"""Reports, as this project's server shows them beside Prefect's UI."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

SANDBOX = "sandbox allow-scripts allow-downloads"


class Pages(StaticFiles):
    """A folder of pages, each as if of another origin: none of their scripts reaches Prefect."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder, check_dir=False)

    async def check_config(self) -> None:
        """A folder that is not there yet has no page; one may come."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file, in its sandbox."""
        response = await super().get_response(path, scope)
        response.headers["Content-Security-Policy"] = SANDBOX
        return response
