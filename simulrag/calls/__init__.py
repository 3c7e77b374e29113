"""The content-hashed call cache that models and simulators share: nothing is paid for twice."""

from __future__ import annotations

from simulrag.calls.cache import CacheAnswer, CallCache, Mode
from simulrag.calls.copying import CopyReport, copy_cache
from simulrag.calls.exchange import ImportReport, export_cache, import_cache
from simulrag.calls.inspection import CacheStats, VerifyReport, cache_stats, verify_cache
from simulrag.calls.keys import KEY_VERSION, CallKind, call_key, canonical_json
from simulrag.calls.ledger import Hold, Ledger, Spent
from simulrag.calls.making import CallResult
from simulrag.calls.places import CachePlace, RedisPlace, parse_place
from simulrag.calls.stored import StageRun, StoredCall

__all__ = [
    "KEY_VERSION",
    "CacheAnswer",
    "CachePlace",
    "CacheStats",
    "CallCache",
    "CallKind",
    "CallResult",
    "CopyReport",
    "Hold",
    "ImportReport",
    "Ledger",
    "Mode",
    "RedisPlace",
    "Spent",
    "StageRun",
    "StoredCall",
    "VerifyReport",
    "cache_stats",
    "call_key",
    "canonical_json",
    "copy_cache",
    "export_cache",
    "import_cache",
    "parse_place",
    "verify_cache",
]
