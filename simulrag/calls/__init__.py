"""The content-hashed call cache that models and simulators share: nothing is paid for twice."""

from simulrag.calls.cache import CacheAnswer, CallCache, CallResult, Mode, asked_for
from simulrag.calls.exchange import ImportReport, copy_cache, export_cache, import_cache
from simulrag.calls.inspection import cache_stats, read_calls, verify_cache
from simulrag.calls.keys import CallKind, call_key, canonical_json
from simulrag.calls.rows import Ledger, StageRun, StoredCall
from simulrag.calls.store import CachePlace, RedisPlace, parse_place

__all__ = [
    "CacheAnswer",
    "CachePlace",
    "CallCache",
    "CallKind",
    "CallResult",
    "ImportReport",
    "Ledger",
    "Mode",
    "RedisPlace",
    "StageRun",
    "StoredCall",
    "asked_for",
    "cache_stats",
    "call_key",
    "canonical_json",
    "copy_cache",
    "export_cache",
    "import_cache",
    "parse_place",
    "read_calls",
    "verify_cache",
]
