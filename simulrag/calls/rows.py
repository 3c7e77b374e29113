"""What a row holds, how it becomes text, and how text is trusted again; what was paid is a ledger.

The ledger has a row of usage for each paid call, ``spent/``, with its own commit. It is written
when a call ends, before its reply is stored and also where the reply cannot be used: what was
billed counts. What costs nothing, or came from an export, has none.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from pydantic import AfterValidator, Field, JsonValue, SkipValidation, ValidationError

from simulrag.calls.keys import CallKind, canonical_json, key_of, request_text
from simulrag.errors import CacheError, first_problem
from simulrag.records import Record, Usage

if TYPE_CHECKING:
    from simulrag.calls.store import Store

CALL, STAGE, SPENT = "call/", "stage/", "spent/"  # what the names of rows begin with

_NAME = ("provider", "endpoint", "model")
"""What names a model."""
HOLD_S = 900.0
"""How long a process that died still holds its calls under way from the others, in Redis."""


class StoredCall(Record):
    """One call that was made, and what came back.

    ``usage`` counts what the provider counted (tokens). ``context``: which one of several writers
    a reply from a file is by, "" where nobody said. ``service`` is "batch" where the provider
    took its batch price, "" otherwise. ``latency_s``, ``time`` (UTC, ISO 8601) and ``service``
    belong to this machine: exports leave them out. ``paid`` is in rows of earlier versions.
    """

    key: str
    kind: CallKind
    # The strict JSON parser has seen both: walking through them again would cost more than reading.
    request: Annotated[dict[str, JsonValue], SkipValidation]
    response: Annotated[JsonValue, SkipValidation]
    usage: dict[str, int] = Field(default_factory=dict)
    model_version: str = ""
    context: str = ""
    service: str = ""
    latency_s: float = 0.0
    time: str = ""
    paid: bool = False

    @property
    def model_name(self) -> str:
        """``provider/endpoint/model``, without what the request does not name."""
        parts = (self.request.get(part) for part in _NAME)
        return "/".join(str(part) for part in parts if part) or "a model"


class StageRun(Record):
    """The counts of one stage's last run.

    A hit is an answer for which nothing was paid now; a miss is a call that was made, whether it
    succeeded or not; missing is what was wanted, is not stored and was not made.
    """

    mode: str = "normal"
    hits: int = 0
    misses: int = 0
    missing: int = 0
    model_hits: int = 0
    model_misses: int = 0
    model_missing: int = 0
    simulator_hits: int = 0
    simulator_misses: int = 0
    simulator_missing: int = 0


def row_text(key: str, kind: str, request: str, **rest: object) -> str:
    """Write the canonical JSON of a StoredCall; ``request`` is its text. Raises ValueError."""
    rest = {"key": key, "kind": kind, "paid": False, "service": "", "latency_s": 0.0, **rest}
    rest["time"] = datetime.now(UTC).isoformat(timespec="milliseconds")
    before = canonical_json({name: value for name, value in rest.items() if name < "request"})
    after = canonical_json({name: value for name, value in rest.items() if name > "request"})
    return f'{before[:-1]},"request":{request},{after[1:]}'


def from_text(text: str, known: str | None = None) -> StoredCall:
    """Read the call of a row. Raises ValueError for other text, and for another call's key.

    ``known``: the canonical text of the request that was asked for. A row that holds these very
    words needs no second hash of them; its ``key`` is then the caller's to compare.
    """
    # json, not pydantic's parser: that one refuses half a surrogate pair, which models do send.
    try:
        call = StoredCall.model_validate(parse_json(text))
        Usage.model_validate(call.usage)
    except ValidationError as error:
        raise ValueError(f"not a stored call: {first_problem(error)}") from None
    if known is not None and f'"request":{known},"response":' in text:
        return call
    if not isinstance(call.request, dict):
        raise ValueError("its request is not a JSON object")
    if key_of(call.kind, request_text(call.request)) != call.key:
        raise ValueError("its key does not belong to its request")
    return call


def parse_json(text: str) -> Any:
    """Strict JSON: no NaN, no infinities. Raises ValueError."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (RecursionError, json.JSONDecodeError) as error:
        raise ValueError(f"not JSON: {error}") from None


def corrupt(place: object, row: str, what: str) -> CacheError:
    """Make the error for a row that cannot be trusted: the user chooses whether to pay again."""
    return CacheError(
        f"the cache row {row} in {place} is corrupt or was tampered with: {what}. See every "
        "such row with `simulrag cache verify`; mode refresh calls again and overwrites it"
    )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"not JSON: {name}")


def _named(request: dict[str, str]) -> dict[str, str]:
    if missing := [name for name in _NAME if name not in request]:
        raise ValueError(f"it names no {', '.join(missing)}")
    return request


class SpentUsage(Record):
    """Usage that was billed; ``request`` names the model. ``service``: see StoredCall."""

    request: Annotated[dict[str, str], AfterValidator(_named)]
    usage: Usage
    time: str
    service: str = ""
    replaces: str | None = None

    @property
    def name(self) -> tuple[str, str, str]:
        """Provider, endpoint, model."""
        provider, endpoint, model = (self.request[name] for name in _NAME)
        return provider, endpoint, model


class Ledger:
    """The usage of a cache, read as it grows."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._owner = secrets.token_hex(16)
        self._position = 0
        self._seen: set[str] = set()

    def news(self) -> list[SpentUsage]:
        """Read what was noted since the last time, by any process; first everything.

        Raises CacheError where a row cannot be read.
        """
        spent = []
        for position, row, text in self._store.spent(self._position):
            self._position = position
            if row not in self._seen:  # else a note that was repeated when its answer got lost
                self._seen.add(row)
                try:
                    spent.append(SpentUsage.model_validate_json(text))
                except ValidationError as error:
                    raise CacheError(
                        f"what was spent cannot be read from {self._store.place}: the row {row} is "
                        f"damaged: {first_problem(error)}. See `simulrag cache verify`"
                    ) from None
        return spent

    def note(self, name: tuple[str, str, str], usage: Usage, service: str = "") -> None:
        """Keep usage that was billed; ``service``: how it was bought."""
        spent = SpentUsage(
            request=dict(zip(_NAME, name, strict=True)),
            usage=usage,
            time=datetime.now(UTC).isoformat(timespec="milliseconds"),
            service=service,
        )
        self._store.put({SPENT + secrets.token_hex(16): canonical_json(spent.model_dump())})

    def hold(self, work: Callable[[float, int], tuple[float, int]]) -> bool:
        """Tell other processes what is under way here: USD and tokens, as ``work`` answers.

        ``work`` is given what all others hold. False: another was faster, try again.
        """

        def met(texts: list[str], now_s: float) -> str:
            alive = [h for h in map(json.loads, texts) if h["until_s"] > now_s]
            usd, tokens = work(sum(h["usd"] for h in alive), sum(h["tokens"] for h in alive))
            return canonical_json({"usd": usd, "tokens": tokens, "until_s": now_s + HOLD_S})

        return self._store.meet(self._owner, met)
