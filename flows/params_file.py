"""The text of params.yaml, read as DVC reads it, and changed with its comments kept.

DVC parses the file with ruamel.yaml as YAML 1.2. Another parser would take files that ``dvc repro``
then refuses (an address without quotes in braces), and read some values otherwise (``1e6``).
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from simulrag.errors import InputError


class _Representer(RoundTripRepresenter):
    """Writes null as it is written in params.yaml, so that a diff shows only what changed."""


def _null(representer: RoundTripRepresenter, _: None) -> ScalarNode:
    node: ScalarNode = representer.represent_scalar("tag:yaml.org,2002:null", "null")
    return node


_Representer.add_representer(type(None), _null)


def read_params(path: Path) -> dict[str, Any]:
    """Return the sections of params.yaml.

    Raises InputError, which names the line and repeats no value.
    """
    raw = read_yaml(path)
    if not isinstance(raw, dict):
        raise InputError(f"{path.name} must hold sections such as 'domains' and 'llm'")
    return raw


def read_yaml(path: Path) -> Any:
    """Read what a file of YAML holds.

    Raises InputError, which names the line and repeats no value.
    """
    return _parsed(YAML(typ="safe"), path)


def changed(path: Path, values: Mapping[str, object]) -> str:
    """Return the file's text with dotted keys set; comments and order stay.

    Mappings and lists become one line.
    """
    yaml = YAML()
    yaml.Representer = _Representer
    yaml.preserve_quotes = True
    yaml.width = 1000
    yaml.indent(mapping=2, sequence=4, offset=2)
    document = _parsed(yaml, path)
    for dotted, value in values.items():
        *parts, last = dotted.split(".")
        place = document
        for part in parts:
            place = place.setdefault(part, CommentedMap())
        old = place.get(last)
        place[last] = _in_one_line(value)
        if isinstance(old, CommentedSeq) and (behind := old.ca.items.get(len(old) - 1)):
            place.ca.items[last] = [None, None, behind[0], None]  # what stands below a list is kept
    text = io.StringIO()
    yaml.dump(document, text)
    return text.getvalue()


def _in_one_line(value: object) -> object:
    if isinstance(value, str) and ":" in value:
        # YAML takes the colon of an address, in braces, for the end of a key.
        return DoubleQuotedScalarString(value)
    if isinstance(value, list):
        items = CommentedSeq(value)
        items.fa.set_flow_style()
        return items
    if not isinstance(value, Mapping):
        return value
    line = CommentedMap({key: _in_one_line(item) for key, item in value.items()})
    line.fa.set_flow_style()
    return line


def _parsed(yaml: YAML, path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not UTF-8 text; save it as UTF-8") from None
    except YAMLError as error:
        raise InputError(f"{path.name} is not valid YAML: {_problem(error)}") from None


def _problem(error: YAMLError) -> str:
    """Say what is wrong and where, in one line, without the text of the file: it may hold a key."""
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
