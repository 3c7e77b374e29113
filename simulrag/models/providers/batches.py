"""What batches are to the code around them, whoever answers them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Protocol

from simulrag.records import Record


class BatchState(Record):
    """How far a batch is. ``done`` counts requests that have a result, failed ones too."""

    status: str
    ended: bool
    done: int = 0
    total: int = 0
    problem: str = ""


class SentBatch(Protocol):
    """A batch that is to be sent: its name, the interface that it asks, its lines."""

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def lines(self) -> Sequence[str]: ...

    @property
    def text(self) -> str: ...


class Batches(ABC):
    """A provider's batches, by its SDK's client of the class ``client``.

    ``most_requests`` and ``most_bytes``: what one may hold. ``result``: the field that a result's
    line is known by.
    """

    client: ClassVar[str]
    most_requests: ClassVar[int]
    most_bytes: ClassVar[int]
    result: ClassVar[str]

    def __init__(self, client: Any, key: str) -> None:
        self._client = client
        self._key = key

    @staticmethod
    @abstractmethod
    def request(path: str, body: dict[str, Any]) -> dict[str, Any]:
        """A call's line beside its ``custom_id``."""

    @staticmethod
    @abstractmethod
    def body(content: dict[str, Any]) -> dict[str, Any] | str | None:
        """The reply in a result's line, as the interface sends it.

        A text: why asking again mends nothing. None: the provider failed and is to be asked again.
        Raises ValueError for what is no result.
        """

    @abstractmethod
    def create(self, batch: SentBatch) -> str:
        """Send a batch; its id at the provider."""

    @abstractmethod
    def state(self, id: str) -> BatchState:
        """How far it is."""

    @abstractmethod
    def results(self, id: str) -> Iterator[str]:
        """The result lines of a batch that has ended."""
