"""Weights on this machine: a GGUF file, run in this process by llama.cpp (PyPI ``xllamacpp``)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from simulrag.errors import (
    EnvironmentFault,
    InputError,
    ModelUnavailable,
    NotOffered,
    ReplyRefused,
    ReplyTruncated,
)
from simulrag.models.base import Measure, Message, ProviderReply, Sampling
from simulrag.models.providers.base import Provider, measured_text
from simulrag.models.providers.wires import cut_off, first_tokens, schema_title
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage

_MAGIC = b"GGUF"
_QUIET = -1


class LocalProvider(Provider):
    """One model, loaded at the first call, and one call at a time: they share the cores.

    ``identity`` stands in a call's key in place of the path: the hash of the file's content, so
    that moving or renaming it repays nothing and other weights in its place are another model.

    The seed is ``sampling.seed`` (0 where there is none) plus the sample index, so that a run can
    be repeated. The number of threads and the length of the context are in no key: a context that
    is too short is an error and never a shorter prompt.

    Raises InputError for a path without a GGUF file and for a reasoning effort; EnvironmentFault
    where the engine is not installed.
    """

    name = "local"
    local = True
    concurrency = 1

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings)
        self._path = Path(settings.model).expanduser()
        if any(s.reasoning_effort for s in (settings.sampling, *settings.tasks.values())):
            raise InputError("provider 'local' takes no reasoning_effort; leave it out")
        _check_file(self._path)
        if find_spec("xllamacpp") is None:
            raise EnvironmentFault(
                "provider 'local' needs the package xllamacpp: pip install 'simulrag[local]'"
            )
        self._identity = f"gguf-sha256:{content_hash(self._path)}"
        self._version = f"xllamacpp-{version('xllamacpp')}"
        self._server: Any = None
        self._key = secrets.token_hex(32)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="local-model")

    @property
    def identity(self) -> str:
        """The hash of the weights."""
        return self._identity

    @property
    def paid(self) -> bool:
        """This machine's own work costs no money, whatever is stated."""
        return False

    async def call(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,
        sample_index: int,
    ) -> ProviderReply:
        """See Provider.call.

        Raises ModelError (truncated where prompt or reply exceed the context or the limit of
        tokens; refused for a schema that the engine cannot follow), EnvironmentFault where the
        model cannot be loaded.
        """
        body: dict[str, Any] = {
            "messages": [item.model_dump() for item in messages],
            "seed": (sampling.seed or 0) + sample_index,
        }
        chosen = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_output_tokens,
        }
        body |= {name: value for name, value in chosen.items() if value is not None}
        if sampling.top_logprobs is not None:
            body |= {"logprobs": True, "top_logprobs": sampling.top_logprobs}
        if schema is not None:
            form = {"name": schema_title(schema), "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        loop = asyncio.get_running_loop()
        response = await loop.run_in_executor(self._thread, self._complete, body)
        return self._reply(response, sampling)

    async def measure(self, measure: Measure, messages: Sequence[Message]) -> ProviderReply:
        """See Provider.measure: a grammar of token literals forces the given words.

        llama.cpp reports the log-probabilities of the full softmax, before the grammar. A grammar
        of text would let it choose another segmentation. Raises as ``call``.
        """
        if measure != "likelihood":
            raise NotOffered(f"provider 'local' offers no {measure}")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._forced, messages)

    async def close(self) -> None:
        """Free the weights. A call under way is waited for: llama.cpp cannot be interrupted."""

        def unload() -> None:
            self._server = None

        await asyncio.get_running_loop().run_in_executor(self._thread, unload)
        self._thread.shutdown()

    def _complete(self, body: dict[str, Any]) -> Any:
        return self._engine().handle_chat_completions(body)

    def _forced(self, messages: Sequence[Message]) -> ProviderReply:
        ids = self._tokens(messages[-1].content)
        body = {
            "messages": [item.model_dump() for item in messages[:-1]],
            "grammar": "root ::= " + " ".join(f"<[{id}]>" for id in ids),
            "max_tokens": len(ids),
            "temperature": 0,
            "logprobs": True,
            "top_logprobs": 1,
            "cache_prompt": False,  # with a cached prefix equal calls differ by some percent
        }
        if len(ids) >= self.settings.local.context:
            raise self._too_long()
        response = self._complete(body)
        choices = response.get("choices") or [{}]
        tokens = (choices[0].get("logprobs") or {}).get("content", [])
        if len(tokens) == len(ids):  # the limit of tokens that was set, no other
            choices[0]["finish_reason"] = "stop"
        reply = self._reply(response, Sampling())
        if [token["id"] for token in tokens] != ids:
            raise ModelUnavailable("llama.cpp wrote other tokens than those that were forced")
        return replace(
            reply,
            text=measured_text([[token["id"], round(token["logprob"], 6)] for token in tokens]),
        )

    def _tokens(self, text: str) -> list[int]:
        """Return the ids that the model's tokenizer gives a text, marks read as plain text."""
        import httpx2

        answer = httpx2.post(
            f"{self._engine().listening_address}/tokenize",
            json={"content": text, "parse_special": False, "with_pieces": True},
            headers={"Authorization": f"Bearer {self._key}"},
            timeout=None,  # it may still be loading
            trust_env=False,  # no proxy leads to this machine
        )
        tokens = answer.raise_for_status().json()["tokens"]
        if not all(isinstance(token["piece"], str) for token in tokens):
            raise NotOffered(
                "a token of the answer is a part of a character (as in an emoji): llama.cpp's "
                "grammars cannot force it"
            )
        return [int(token["id"]) for token in tokens]

    def _engine(self) -> Any:
        if self._server is None:
            self._server = self._loaded()
        return self._server

    def _loaded(self) -> Any:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.n_ctx = self.settings.local.context
        params.n_parallel = 1
        params.cpuparams.n_threads = self.settings.local.threads or os.cpu_count() or 1
        params.warmup = False
        params.verbosity = _QUIET
        # The engine also listens on a port of 127.0.0.1; a key that no other program has keeps
        # them out.
        params.api_keys = [self._key]
        params.fit_params = False  # it would shorten the context to what memory there is
        params.ctx_shift = False  # it would drop the beginning of a conversation unseen
        try:
            return xllamacpp.Server(params)
        except RuntimeError:
            raise EnvironmentFault(
                f"llama.cpp cannot load {self._path}: it may be damaged, of a newer format than "
                "xllamacpp knows, or too large for the memory"
            ) from None

    def _reply(self, response: Any, sampling: Sampling) -> ProviderReply:
        error = response.get("error")
        if error is not None:
            reason = str(error.get("message", "no reason"))
            if error.get("type") == "exceed_context_size_error":
                raise ReplyTruncated(
                    f"the prompt exceeds the model's context: {reason}; raise local.context"
                )
            kind = ModelUnavailable if int(error.get("code", 500)) >= 500 else ReplyRefused
            raise kind(f"llama.cpp refused the request: {reason}")
        choice, counted = response["choices"][0], response["usage"]
        details = counted.get("prompt_tokens_details") or {}
        usage = Usage(
            calls=1,
            input_tokens=counted["prompt_tokens"],
            output_tokens=counted["completion_tokens"],
            cached_input_tokens=details.get("cached_tokens", 0),
        )
        if choice["finish_reason"] == "length":
            if sampling.max_output_tokens == usage.output_tokens:
                raise cut_off(sampling.max_output_tokens, usage)
            raise self._too_long()
        return ProviderReply(
            text=choice["message"].get("content") or "",
            usage=usage,
            model_version=self._version,
            first_tokens=first_tokens((choice.get("logprobs") or {}).get("content"), ""),
        )

    def _too_long(self) -> ReplyTruncated:
        return ReplyTruncated(
            f"prompt and reply exceed the context of {self.settings.local.context} tokens; "
            "raise local.context"
        )


def content_hash(path: Path) -> str:
    """Compute the sha256 of a file, remembered by path, size and time of change.

    Weights have gigabytes, and every stage asks. The notes are a file below the user's cache
    folder; where that cannot be written the hash is computed again.
    """
    stat = path.stat()
    name = f"{path.resolve()} {stat.st_size} {stat.st_mtime_ns}"
    notes = _notes_folder() / f"{hashlib.sha256(name.encode()).hexdigest()}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):  # none there, or not ours
        known = json.loads(notes.read_text(encoding="utf-8"))
        if known["file"] == name:
            return str(known["sha256"])
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with suppress(OSError):
        notes.parent.mkdir(parents=True, exist_ok=True)
        notes.write_text(json.dumps({"file": name, "sha256": digest}), encoding="utf-8")
    return digest


def _notes_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "simulrag" / "gguf"


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise InputError(
            f"no model at {path} ({error.strerror}): put a GGUF file there, or change 'model' in "
            "params.yaml; nothing is downloaded for you"
        ) from None
    if magic != _MAGIC:
        raise InputError(
            f"{path} is not a GGUF file; provider 'local' takes only llama.cpp's format"
        )
