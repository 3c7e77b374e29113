"""DVC's command line as a refresh runs it: ``python -m flows.refresh.experiment exp run ...``.

``dvc exp run -S`` writes params.yaml anew without its quotes, and an address that stood in braces,
``{base_url: "http://127.0.0.1:8000/v1"}``, is then nothing that DVC can read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ruamel.yaml.scalarstring import DoubleQuotedScalarString


def quote(data: Any) -> None:
    """Put texts with a colon into quotes, in mappings and lists of any depth."""
    for place, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        if isinstance(value, str) and ":" in value:
            data[place] = DoubleQuotedScalarString(value)
        elif isinstance(value, dict | list):
            quote(value)


def main() -> int:
    """Run DVC; its exit code."""
    from dvc.cli import main as dvc
    from dvc.utils.serialize import MODIFIERS, modify_yaml

    @contextmanager
    def modify(path: Any, fs: Any = None) -> Iterator[Any]:
        with modify_yaml(path, fs=fs) as data:
            yield data
            quote(data)

    MODIFIERS[".yaml"] = modify
    return int(dvc(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
