"""What an official SDK's error means, and how keys stay out of every text that goes on.

OpenAI's and Anthropic's SDKs name their errors alike. A key is read from the environment only.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from json import JSONDecodeError
from types import ModuleType
from typing import Any

from simulrag.errors import (
    EnvironmentFault,
    InputError,
    ModelError,
    ModelThrottled,
    ModelTimeout,
    ModelUnavailable,
    ModelUnreachable,
    ReplyRefused,
    SimulRAGError,
)
from simulrag.models.base import encodable
from simulrag.records import Usage

NO_KEY = "no-key-needed"
"""Sent to a server of one's own that asks for no key: the SDKs insist on some text."""

_SHORTEST_SECRET = 8
_SHOWN_CHARACTERS = 300

CONNECT_TIMEOUT_S = 10.0
ODD_SHAPE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading an answer of another shape raises: the SDKs do not validate what servers send."""
THROTTLED = frozenset({429, 529})
"""Too many calls: of this account, or (529, Anthropic) of all customers together."""
_NO_CREDIT = frozenset({"insufficient_quota", "billing_error"})
_LENGTHS = frozenset({"max_tokens", "max_output_tokens", "max_completion_tokens"})
_FIELDS = frozenset({"temperature", "top_p", "seed", "reasoning_effort"}) | _LENGTHS
# "`temperature` is deprecated for this model", "max_tokens: 99999 > 8192, which is the maximum".
_FIELD_NAMED = re.compile(
    r"\b(temperature|top_p|reasoning_effort)\b"
    r"|\b(max_tokens|max_output_tokens|max_completion_tokens): \d+ > \d+"
)
_OVERFLOW = re.compile(r"context (?:length|window|limit)|prompt is too long|maximum context", re.I)
_UNSUPPORTED = frozenset({"unsupported_parameter", "unsupported_value"})


def read_key(variable: str | None, base_url: str) -> str:
    """Read a key from an environment variable; NO_KEY where none is named.

    Raises EnvironmentFault where it is not set.
    """
    if variable is None:
        return NO_KEY
    key = os.environ.get(variable, "").strip()
    if not key:
        raise EnvironmentFault(
            f"the environment variable {variable} is not set; it must hold the key for {base_url} "
            "(set it there, never in a file of the project)"
        )
    return key


def known_key(variable: str | None) -> str:
    """Read the key where it is set, "" where not: for texts that must not hold it."""
    return "" if variable is None else os.environ.get(variable, "").strip()


def scrub(text: str, key: str) -> str:
    """Put ``text`` on one short line, without the key that a server may have quoted in it."""
    return " ".join(encodable(without_key(text, key)).split())[:_SHOWN_CHARACTERS]


def without_key(text: str, key: str) -> str:
    """Replace the key in ``text`` by ``***``, also where JSON escapes a part of it."""
    # Shorter ones are placeholders such as "EMPTY", which may well be words of a reply.
    if len(key) < _SHORTEST_SECRET or key == NO_KEY:
        return text
    if "\\" not in text:
        return text.replace(key, "***")
    return _spellings(key).sub("***", text)


@lru_cache(maxsize=16)
def _spellings(key: str) -> re.Pattern[str]:
    r"""Match every spelling within a JSON string: each letter plain, as ``\u0073`` or ``\/``."""
    letters = (
        rf"(?:{re.escape(letter)}|\\u{ord(letter):04x}|\\{re.escape(letter)})" for letter in key
    )
    # With the backslashes before it: half of a pair of them would be no JSON.
    return re.compile(r"(?<!\\)\\*" + "".join(letters), re.IGNORECASE)


@dataclass(frozen=True)
class Server:
    """Who is called, for the text of errors. ``wire`` is the interface that it should speak."""

    base_url: str
    model: str
    key_variable: str | None
    wire: str

    def failure(self, error: Any, sdk: ModuleType, key: str) -> SimulRAGError:
        """Turn an SDK's APIError into one of ``simulrag.errors``, without the key.

        ModelError; EnvironmentFault for a key that is not accepted and an account without credit;
        InputError for an unknown model or sampling field.
        """
        if isinstance(error, sdk.APIConnectionError):  # timeouts are among them
            return self._no_answer(error, key)
        reason = scrub(str(getattr(error, "message", error)), key)
        if not isinstance(error, sdk.APIStatusError):
            return ModelUnavailable(
                f"{self.base_url} sent no usable answer: {reason}", usage=Usage(calls=1)
            )
        return self._users_to_mend(error, reason) or self._status_failure(error.status_code, reason)

    def unreadable(self, error: Exception) -> ModelError:
        """Make the error for what is no answer: no JSON, or fields missing or of other types."""
        no_json = isinstance(error, JSONDecodeError | UnicodeDecodeError)
        what = "a body that is not JSON" if no_json else "an answer of another shape"
        text = f"{self.base_url} sent {what}; is it a {self.wire} server?"
        return ModelUnavailable(text, usage=Usage(calls=1))

    def _no_answer(self, error: Any, key: str) -> ModelError:
        cause = error.__cause__
        # By name: which HTTP library raises it is the SDK's affair and has changed.
        match type(cause).__name__:
            case "ConnectTimeout":
                text = f"{self.base_url} could not be reached in {CONNECT_TIMEOUT_S:g} s"
                return ModelUnreachable(text)
            case "ReadTimeout" | "WriteTimeout" | "PoolTimeout":
                return ModelTimeout(
                    f"{self.base_url} gave no reply in time ({scrub(str(cause), key)}); run again "
                    "to go on from here, or raise operations.call_timeout_s"
                )
            case name:
                kind = ModelUnreachable if name == "ConnectError" else ModelUnavailable
                return kind(
                    f"no connection to {self.base_url} ({scrub(str(cause or error), key)}); is "
                    "base_url right?"
                )

    def _users_to_mend(self, error: Any, reason: str) -> SimulRAGError | None:
        status = error.status_code
        codes = {str(getattr(error, name, None)) for name in ("code", "type")}  # or any JSON
        if status == 402 or codes & _NO_CREDIT:
            return EnvironmentFault(
                f"the account at {self.base_url} has no credit left ({status}): {reason}; "
                "everything paid for is kept"
            )
        if status in {401, 403}:
            variable = self.key_variable or "api_key_env (none is named)"
            return EnvironmentFault(
                f"{self.base_url} does not accept the key of {variable} ({status}): {reason}"
            )
        if status == 404:
            return InputError(
                f"{self.base_url} knows no model '{self.model}', or base_url is wrong (404): "
                f"{reason}"
            )
        field = _refused_field(error, reason) if status == 400 else None
        if field is None and status == 400 and codes & _UNSUPPORTED:
            field = scrub(_param(error), known_key(self.key_variable)) or "a sampling field"
        if field is not None:
            return InputError(
                f"the model '{self.model}' does not take {field} as it is set (400): {reason}; "
                "change or leave out that field of its sampling in params.yaml"
            )
        return None

    def _status_failure(self, status: int, reason: str) -> ModelError:
        if status in THROTTLED:
            return ModelThrottled(
                f"{self.base_url} takes no more calls now, for the rate limit or the account's "
                f"quota ({status}): {reason}; run again later to go on from here"
            )
        if status in {408, 409} or status >= 500:
            return ModelUnavailable(
                f"{self.base_url} failed ({status}): {reason}; run again to go on from here"
            )
        return ReplyRefused(f"{self.base_url} refused the request ({status}): {reason}")


def _param(error: Any) -> str:
    """Read the field that an error's body names; "" for what is no text."""
    param = getattr(error, "param", None)
    return param if isinstance(param, str) else ""


def _refused_field(error: Any, reason: str) -> str | None:
    """Find the sampling field that a bad request is about, named or in the server's words.

    Not where a prompt is too long: that is one question's fault, whatever field it names.
    """
    if _OVERFLOW.search(reason):
        return None
    named = _param(error).replace(".", "_")
    if named in _FIELDS:
        return named
    match = _FIELD_NAMED.search(reason)
    return None if match is None else match[1] or match[2]
