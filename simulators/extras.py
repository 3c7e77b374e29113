"""What to install where a package is missing that an extra of this project brings."""

from __future__ import annotations

_EXTRAS = {
    "bm25s": "documents",
    "dvc": "pipeline",
    "fastapi": "pipeline",
    "mcp": "remote",
    "numba": "epidemiology",
    "polars": "pipeline",
    "prefect": "pipeline",
    "rapidfuzz": "climate",
    "sacrebleu": "pipeline",
    "scipy": "pipeline",
    "sklearn": "pipeline",
    "sqlalchemy": "pipeline",
    "torch": "emulators",
}
"""By the package that is imported; pyproject.toml says what each extra holds."""


def missing(error: BaseException) -> str:
    """Words on how to install what an import did not find; "" where no extra brings it."""
    package = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    if package not in _EXTRAS:
        return ""
    alone = f" (or {package} alone)" if package == "polars" else ""
    return f"this needs {package}: pip install 'simulrag[{_EXTRAS[package]}]'{alone}"
