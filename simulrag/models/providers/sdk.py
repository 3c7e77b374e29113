"""What the providers with an official SDK share: the client, its retries, its errors as ours."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import JsonValue

from simulrag.errors import ModelError, ModelUnavailable, ReplyRefused, SimulRAGError
from simulrag.models.base import Message, ProviderReply, Sampling
from simulrag.models.providers.base import Provider, is_own_server
from simulrag.models.providers.faults import ODD_SHAPE, Server, known_key, read_key, scrub
from simulrag.models.settings import ModelSettings
from simulrag.records import Record, Usage

if TYPE_CHECKING:
    from simulrag.models.batch.lines import Part

Result = TypeVar("Result")

MAX_WAIT_S = 120.0
"""The SDKs keep a Retry-After up to this; beyond it they wait as if there were none."""


class BatchState(Record):
    """How far a batch is. ``done`` counts requests that have a result, failed ones too."""

    status: str
    ended: bool
    done: int = 0
    total: int = 0
    problem: str = ""


class Batches(ABC):
    """A provider's batches, by the client that its calls go by.

    ``most_requests`` and ``most_bytes``: what one may hold. ``result``: the field that a result's
    line is known by.
    """

    most_requests: ClassVar[int]
    most_bytes: ClassVar[int]
    result: ClassVar[str]

    def __init__(self, client: Any, key: str) -> None:
        self._client = client
        self._key = key

    @staticmethod
    @abstractmethod
    def request(path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Make a call's line beside its ``custom_id``."""

    @staticmethod
    @abstractmethod
    def body(content: dict[str, Any]) -> dict[str, Any] | str | None:
        """Read the reply in a result's line, as the interface sends it.

        A text: why asking again mends nothing. None: the provider failed and is to be asked again.
        {}: answered, and so paid for, by something else. Raises ValueError for what is no result.
        """

    @abstractmethod
    async def create(self, batch: Part) -> str:
        """Send a batch; its id at the provider."""

    @abstractmethod
    async def state(self, id: str) -> BatchState:
        """Ask how far a batch is."""

    @abstractmethod
    def results(self, id: str) -> AsyncIterator[Any]:
        """Ask for the results of a batch that has ended: the SDK's responses, yet to be read."""

    def _id(self, made: Any) -> str:
        """Read the id of a batch that was made. Raises TypeError where there is none."""
        if not isinstance(made.id, str):
            raise TypeError("the id is not text")
        return scrub(made.id, self._key)


class SdkProvider(Provider):
    """One client, made at the first call; the SDK makes failed attempts again.

    The key is read from the environment at the first call and never before: work that is stored
    needs none. ``sdk`` is the package's name and ``client`` its client's; ``wire`` names the
    interface in errors, ``server`` is who is asked. Its calls can also go by a batch: it knows
    their JSON both ways (``body``, ``read``), and ``batches`` what is around it.
    """

    sdk: ClassVar[str]
    client: ClassVar[str]
    batches: ClassVar[type[Batches]]

    def __init__(self, settings: ModelSettings, base_url: str, wire: str) -> None:
        super().__init__(settings)
        self.server = Server(base_url, settings.model, self.key_variable, wire)
        self._client: Any = None

    @property
    @abstractmethod
    def path(self) -> str:
        """The interface that is asked, as a batch names it: ``/v1/responses`` or so."""

    @abstractmethod
    def body(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,
        sample_index: int,
    ) -> dict[str, Any]:
        """Make the JSON that is sent, by a call or as a line of a batch."""

    @property
    def paid(self) -> bool:
        """What params.yaml states; else a server elsewhere costs money, one of one's own not."""
        stated = self.settings.paid
        paid = not is_own_server(self.settings.base_url) if stated is None else stated
        return paid and not self.settings.replay

    @property
    def deadline_s(self) -> float:
        """All attempts, and the longest waits between them."""
        return self.timeout_s + self.retries * (self.timeout_s + MAX_WAIT_S)

    async def call(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,
        sample_index: int,
    ) -> ProviderReply:
        """See Provider.call.

        Raises ModelError; EnvironmentFault where the key is missing or not accepted; InputError
        where the server knows no such model.
        """
        body = self.body(messages, schema, sampling, sample_index)

        async def work(client: Any, key: str) -> ProviderReply:
            return self.reply(await self.send(client, body), key, sampling)

        return await self.exchange(work)

    async def exchange(self, work: Callable[[Any, str], Awaitable[Result]]) -> Result:
        """Do ``work`` with the client and the key; the SDK's errors come out as ours. See call.

        An answer that is none has a ``usage``, if without counts: it may have been billed.
        """
        from httpx2 import InvalidURL

        key = read_key(self.server.key_variable, self.server.base_url)
        client = self._connected(key)
        sdk = import_module(self.sdk)
        failure: SimulRAGError
        try:
            return await work(client, key)
        except sdk.APIError.__base__ as error:  # the base of all that the SDK raises
            failure = self.server.failure(error, sdk, key)
        except UnicodeEncodeError:
            what = "half of a surrogate pair, or a key with letters that no header takes"
            failure = ReplyRefused(f"nothing was sent to {self.server.base_url}: {what}")
        except (ModelUnavailable, InvalidURL, *ODD_SHAPE) as error:
            self.failures["unavailable"] += 1
            odd = error if isinstance(error, ModelError) else self.server.unreadable(error)
            odd.usage = odd.usage or Usage(calls=1)
            failure = odd
        # Raised outside the handler: the SDK's error, which quotes the server, is not chained.
        raise failure

    def read(self, body: dict[str, Any], sampling: Sampling) -> ProviderReply:
        """Read the reply in a response. Raises ModelError (refused, truncated, unavailable)."""
        try:
            return self.reply(self.parsed(body), known_key(self.server.key_variable), sampling)
        except ODD_SHAPE as error:  # the SDK does not validate what it is given
            raise self.server.unreadable(error) from None

    @abstractmethod
    async def send(self, client: Any, body: dict[str, Any]) -> Any:
        """Have the SDK send the request; its response."""

    @abstractmethod
    def parsed(self, body: dict[str, Any]) -> Any:
        """Turn a response's JSON into the SDK's object, unvalidated as the SDK's own."""

    @abstractmethod
    def reply(self, response: Any, key: str, sampling: Sampling) -> ProviderReply:
        """Read the reply in the SDK's response. Raises ModelError."""

    async def close(self) -> None:
        """Free connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _connected(self, key: str) -> Any:
        if self._client is None:
            from simulrag.models.providers.attempts import TIMEOUT, AttemptClient

            self._client = getattr(import_module(self.sdk), self.client)(
                api_key=key,
                base_url=self.server.base_url,
                max_retries=self.retries,
                timeout=TIMEOUT,
                http_client=AttemptClient(self),
            )
        return self._client
