"""Storing what was paid for, without overwriting what another process has stored meanwhile.

A lease keeps others from making the same call, but its owner may sleep past its end: a suspended
machine, a Redis that was away. So a commit trusts no lease. It compares the row with what was
there when its call began, and a row that has changed since then stands, in mode refresh too: what
one stage was told, every stage is told. The usage of the reply that comes too late is kept.

Every commit may be repeated: an acknowledgement can get lost on its way, and then the row that is
found is one's own.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulrag.calls.ledger import note_spent
from simulrag.calls.rows import Rows
from simulrag.calls.stored import CALL_PREFIX, StoredCall, corrupt, from_text
from simulrag.calls.tally import model_name
from simulrag.errors import CacheError


@dataclass(frozen=True)
class Unsaved:
    """The text of a call that is paid for and not stored yet.

    ``before``: the row when the call began, "" for one that could not be read. ``owner``: random,
    names this call's row of usage if it needs one.
    """

    key: str
    text: str
    before: str | None
    owner: str


def find_call(rows: Rows, key: str) -> StoredCall | None:
    """The stored call. Raises CacheError where its row cannot be trusted."""
    text = rows.get(CALL_PREFIX + key)
    return None if text is None else _trusted(rows, key, text)


def row_before(rows: Rows, key: str) -> str | None:
    """The row that a call is to overwrite, "" where it was tampered with, None without one."""
    try:
        return rows.get(CALL_PREFIX + key)
    except CacheError:
        return ""


def commit(rows: Rows, mine: Unsaved) -> StoredCall:
    """The call that is stored from now on, in the caller's transaction.

    Raises CacheError where another process has stored what cannot be trusted.
    """
    row = CALL_PREFIX + mine.key
    there = row_before(rows, mine.key)
    if there == mine.text:
        return from_text(there)
    if there is None or there == mine.before:
        if there is not None:
            _keep_usage(rows, there, mine, replaces=mine.key)
            rows.delete(row)  # the new row is then news to every ledger
        rows.set(row, mine.text)
        return from_text(mine.text)
    call = _trusted(rows, mine.key, there)
    _keep_usage(rows, mine.text, mine, replaces=None)
    return call


def _keep_usage(rows: Rows, text: str, mine: Unsaved, replaces: str | None) -> None:
    """What a call took that was paid for here and that no row will hold."""
    try:
        call = from_text(text)
    except ValueError:
        return  # a row that cannot be read tells no usage
    if call.paid:
        note_spent(
            rows,
            mine.owner,
            model_name(call),
            call.usage,
            call.time,
            service=call.service,
            replaces=replaces,
        )


def _trusted(rows: Rows, key: str, text: str) -> StoredCall:
    try:
        call = from_text(text)
    except ValueError as error:
        raise corrupt(rows.place, CALL_PREFIX + key, str(error)) from error
    if call.key != key:
        raise corrupt(rows.place, CALL_PREFIX + key, "it holds another call")
    return call
