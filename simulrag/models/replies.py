"""What a model's reply must be: the base of its classes, its JSON schema, how a text is validated.

Types are strict: the string "false" is not a boolean and "0" not an integer. A reply that has to be
guessed at goes back to the model once, with what is wrong. A text may hold one JSON object: by
itself, in a code fence or between prose without brackets.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictInt, StrictStr, ValidationError

from simulrag.errors import ModelError, ReplyInvalid, ReplyRefused, ReplyTruncated

if TYPE_CHECKING:
    from simulrag.models.base import Request

Text = Annotated[StrictStr, Field(min_length=1)]

_SHOWN_ERRORS = 5
_LONGEST_INTEGER = 300  # digits: a float has no more, and Python reads no more than 4,300
THOUGHT_BEGINS, THOUGHT_ENDS = "<think>", "</think>"


class Reply(BaseModel):
    """Base of all replies: closed and strict."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


class Numbered(Reply):
    """What a reply to several claims says of one: ``index`` is the claim's number in the prompt."""

    index: StrictInt


class Batch(Reply):
    """Reply to several claims: its one field lists what it says of each."""

    @classmethod
    def of(cls, items: Iterable[Any]) -> Self:
        """Make a reply of these items."""
        (field,) = cls.model_fields
        return cls(**{field: list(items)})

    @property
    def items(self) -> list[Any]:
        """What its field lists."""
        (field,) = type(self).model_fields
        return list(getattr(self, field))

    def by_claim(self, count: int) -> dict[int, Any]:
        """Map each of ``count`` claims, numbered from 0, to what is said of it, as far as it is.

        With a number doubled or unknown it is open which claims the others were meant for: {}. So
        it is where the first or the last is missing: the model may have counted from 1, or passed
        a claim over and counted on.
        """
        said = {item.index: item for item in self.items}
        once = len(said) == len(self.items)
        known = once and said and min(said) == 0 and max(said) == count - 1
        return dict(sorted(said.items())) if known else {}

    def problem(self, count: int) -> str:
        """Say in words that a model can act on why not each claim has its item; "" if it has."""
        times = Counter(item.index for item in self.items)
        wrong = {
            "missing": [number for number in range(count) if number not in times],
            "repeated": sorted(number for number, often in times.items() if often > 1),
            "unknown": sorted(number for number in times if not 0 <= number < count),
        }
        named = [f"{name}: {', '.join(map(str, which))}" for name, which in wrong.items() if which]
        said = f"give each claim's index, 0 to {count - 1}, exactly once; {'; '.join(named)}"
        return said if named else ""


ReplyT = TypeVar("ReplyT", bound=BaseModel)


class InvalidReply(ValueError):  # noqa: N818 a finding about the reply, not a fault of ours
    """The reply does not fit; the text says why, in words that a model can act on.

    ``kept``: the reply with what of it can be used; None where its step can use nothing less than a
    whole one.
    """

    def __init__(self, problem: str, kept: Reply | None = None) -> None:
        super().__init__(problem)
        self.kept = kept


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique: dict[str, Any] = {}
    for key, value in pairs:
        if key in unique:
            raise InvalidReply(f"the key '{key}' appears twice in one object")
        unique[key] = value
    return unique


def _no_constant(name: str) -> NoReturn:
    raise InvalidReply(f"{name} is no JSON number")


def _integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise InvalidReply(f"the number {text[:20]}... is too large")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InvalidReply(f"the number {text[:20]} is too large")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys,
    parse_constant=_no_constant,
    parse_float=_finite,
    parse_int=_integer,
)


def find_object(text: str) -> str:
    """Find the one JSON object in ``text``, as written.

    Brackets outside it make the reply ambiguous (two objects, a broken outer one, a list), so they
    are refused. Raises InvalidReply.
    """
    start = text.find("{")
    if start < 0:
        raise InvalidReply("the reply holds no JSON object")
    try:
        value, end = _DECODER.raw_decode(text, start)
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            raise InvalidReply("the JSON is cut off before its end") from None
        where = error.pos - start
        raise InvalidReply(f"no valid JSON at character {where}: {error.msg}") from None
    except UnicodeEncodeError:
        raise InvalidReply("the JSON holds half of a surrogate pair") from None
    except RecursionError:
        raise InvalidReply("the JSON is nested too deeply") from None
    if set(text[:start] + text[end:]) & set("{}[]"):
        raise InvalidReply("the reply holds more than one JSON object; return exactly one")
    return text[start:end]


def plain_text(text: str) -> str:
    """Strip the white space around a reply. Raises InvalidReply where nothing is left.

    Half of a surrogate pair is refused too: it has no UTF-8 form, so no table could hold it.
    """
    text = text.strip()
    if not text:
        raise InvalidReply("the reply is empty")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidReply("the reply holds half of a surrogate pair") from None
    return text


def without_thought(text: str) -> str:
    """Cut what a reasoning model's server left before a reply: ``<think>...</think>``.

    A chat template may have written the opening tag into the prompt, so that the closing one is
    alone, at the end of its line. Raises InvalidReply for a thought without an end.
    """
    before, closing, after = text.partition(THOUGHT_ENDS)
    start = before.lstrip()[: len(THOUGHT_BEGINS)]
    if start == THOUGHT_BEGINS and not closing:
        raise InvalidReply(f"the reply begins with {THOUGHT_BEGINS} and never ends that thought")
    alone = closing and THOUGHT_BEGINS not in before and after.startswith("\n")
    return after if start == THOUGHT_BEGINS or alone else text


def parse_reply(text: str, schema: type[ReplyT]) -> ReplyT:
    """Read the reply in ``text`` as ``schema``, without coercion ("false" is not a boolean).

    Raises InvalidReply.
    """
    json_text = find_object(text)
    try:
        return schema.model_validate_json(json_text, strict=True)
    except ValidationError as error:
        raise InvalidReply(_problems(error)) from None


def valid_reply(request: Request, text: JsonValue) -> tuple[str, Any]:
    """Return a reply's text and its parsed form, which passed the request's own check.

    Raises InvalidReply, with what can be kept where ``check`` keeps something.
    """
    if not isinstance(text, str):
        raise InvalidReply("the reply is no text")
    try:
        text = plain_text(without_thought(text))
        parsed = None if request.schema is None else parse_reply(text, request.schema)
    except InvalidReply as error:
        raise InvalidReply(str(error), _kept_of(request, text)) from None
    if request.check is not None:
        try:
            request.check(text if parsed is None else parsed)
        except ValueError as error:
            raise InvalidReply(str(error), getattr(error, "kept", None)) from None
    return text, parsed


def _kept_of(request: Request, text: str) -> Reply | None:
    """Keep those items of a malformed batch that are well formed, as its check keeps them."""
    schema = request.schema
    if request.check is None or schema is None or not issubclass(schema, Batch):
        return None
    (field,) = schema.model_fields
    listed: Any = None
    with suppress(InvalidReply):
        listed = json.loads(find_object(text)).get(field)
    listed = listed if isinstance(listed, list) else []
    items: list[Any] = []
    for item in listed:
        with suppress(ValidationError):
            items += schema.model_validate_json(json.dumps({field: [item]}), strict=True).items
    if len(items) < len(listed) and not _placed(listed, items):
        items = []
    try:
        reply = schema.of(items)
        request.check(reply)
    except ValueError as error:
        return error.kept if isinstance(error, InvalidReply) else None
    return reply


def _placed(listed: list[Any], items: list[Any]) -> bool:
    """Tell whether the numbers of all that is listed leave no doubt whose the good items are.

    None is doubled or left out, and the least and the largest are among the good: see
    Batch.by_claim.
    """
    told = [item.get("index") if isinstance(item, dict) else None for item in listed]
    numbers = [number for number in told if type(number) is int]
    once = len({*numbers}) == len(told)
    good = {item.index for item in items if isinstance(item, Numbered)}
    return bool(good) and once and {min(numbers), max(numbers)} <= good


def _problems(error: ValidationError) -> str:
    shown = [
        f"{'.'.join(str(part) for part in item['loc']) or 'the reply'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False)
    ]
    more = len(shown) - _SHOWN_ERRORS
    return "; ".join(shown[:_SHOWN_ERRORS]) + (f"; and {more} more" if more > 0 else "")


@lru_cache(maxsize=256)
def _schema_text(schema: type[BaseModel]) -> str:
    return json.dumps(_structure(schema.model_json_schema()))


def reply_schema(schema: type[BaseModel]) -> dict[str, JsonValue]:
    """Make the JSON schema that a provider is shown: only its structure.

    Docstrings are written for readers of the code, so descriptions are left out: they would be
    sent to the model and change the call's key with every reworded docstring. The root's title
    (the model's name) stays, since providers name the schema by it.
    """
    structure: dict[str, JsonValue] = json.loads(_schema_text(schema))
    return structure


def _structure(node: dict[str, Any], root: bool = True) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in node.items():
        if key == "description" or (key == "title" and not root):
            continue
        if key in {"properties", "$defs"}:
            kept[key] = {name: _structure(child, root=False) for name, child in value.items()}
        else:
            kept[key] = _nested(value)
    return kept


def _nested(value: Any) -> Any:
    if isinstance(value, dict):
        return _structure(value, root=False)
    if isinstance(value, list):
        return [_nested(item) for item in value]
    return value


Unusable = Literal["invalid_reply", "refused", "truncated"]
_UNUSABLE: dict[type[ModelError], Unusable] = {
    ReplyInvalid: "invalid_reply",
    ReplyRefused: "refused",
    ReplyTruncated: "truncated",
}


def unusable(error: ModelError) -> Unusable:
    """Name the rejection of a reply that stays unusable; raise what was not reached."""
    kind = _UNUSABLE.get(type(error))
    if kind is None:
        raise error
    return kind
