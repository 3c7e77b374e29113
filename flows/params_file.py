"""The text of params.yaml, read as DVC reads it.

DVC parses the file with ruamel.yaml as YAML 1.2. Another parser would take files that ``dvc repro``
then refuses (an address without quotes in braces), and read some values otherwise (``1e6``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from simulrag.errors import InputError


def read_params(path: Path) -> dict[str, Any]:
    """The sections of params.yaml. Raises InputError, which names the line and repeats no value."""
    try:
        raw = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is no UTF-8 text; save it as UTF-8") from None
    except YAMLError as error:
        raise InputError(f"{path.name} is no valid YAML: {_problem(error)}") from None
    if not isinstance(raw, dict):
        raise InputError(f"{path.name} must hold sections such as 'domains' and 'llm'")
    return raw


def _problem(error: YAMLError) -> str:
    """What is wrong and where, in one line, without the text of the file: it may hold a key."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return "it holds a character that YAML does not take"
    mark = error.problem_mark
    where = f"line {mark.line + 1}, column {mark.column + 1}"
    if isinstance(error, DuplicateKeyError):
        return f"a key is given twice, {where}"
    hint = ""
    if error.problem == "found unexpected ':'":
        hint = '; in braces an address needs quotes, such as {base_url: "http://127.0.0.1:8000/v1"}'
    elif error.problem == "found character that cannot start any token":
        hint = "; indent with spaces, not with tabs, and put such a text in quotes"
    return f"{error.problem}, {where}{hint}"
