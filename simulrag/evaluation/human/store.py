"""Labels as they are given, in one SQLite file: each is on disk before it is acknowledged.

A row belongs to one annotator, so two people never overwrite each other. Whoever saves says which
label she saw before; where that is no longer the one on disk (a second window, a shared name) the
save is refused instead of winning silently.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from simulrag.errors import EnvironmentFault, InputError
from simulrag.evaluation.human.labels import in_order
from simulrag.records import HumanLabel, LabelValue

_MAGIC = b"SQLite format 3\0"
_VERSION = 1
_SCHEMA = f"""
CREATE TABLE labels (
  question_id TEXT NOT NULL,
  claim_hash TEXT NOT NULL,
  annotator TEXT NOT NULL,
  adjudication INTEGER NOT NULL CHECK (adjudication IN (0, 1)),
  text TEXT NOT NULL,
  label TEXT NOT NULL CHECK (label IN ('true', 'false', 'undecided')),
  note TEXT NOT NULL,
  PRIMARY KEY (question_id, claim_hash, annotator, adjudication)
) WITHOUT ROWID;
CREATE UNIQUE INDEX one_adjudication ON labels (question_id, claim_hash) WHERE adjudication = 1;
PRAGMA user_version = {_VERSION};
"""
_COLUMNS = "question_id, claim_hash, annotator, adjudication, text, label, note"
_CLAIM = "question_id = ? AND claim_hash = ?"


class Conflict(InputError):  # noqa: N818 a state of the file, met in ordinary use
    """Another label than the expected one is on disk."""


class LabelStore:
    """The file; safe for threads and for several processes at once."""

    def __init__(self, path: Path) -> None:
        """Open ``path``, or make it. Raises InputError where it is another kind of file."""
        self.path = path
        with self._open() as database:
            if database.execute("PRAGMA user_version").fetchone()[0] == 0:
                if database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise InputError(f"{path} is a database of something else: name another file")
                database.executescript(_SCHEMA)
            version = database.execute("PRAGMA user_version").fetchone()[0]
            if version != _VERSION:
                raise InputError(f"{path} was written by another version of this program")

    def labels(self) -> list[HumanLabel]:
        """All labels, in the order of ``in_order``. Raises InputError for a row that is none."""
        with self._open() as database:
            rows = database.execute(f"SELECT {_COLUMNS} FROM labels").fetchall()  # noqa: S608
        try:
            return in_order(
                HumanLabel.model_validate({**dict(row), "adjudication": bool(row["adjudication"])})
                for row in rows
            )
        except ValidationError as error:
            first = error.errors()[0]
            raise InputError(f"{self.path}: {first['loc'][0]}: {first['msg']}") from None

    def save(self, label: HumanLabel, expected: LabelValue | None) -> None:
        """Put a label in the place of this annotator's own, which was ``expected`` (None: no one).

        Raises Conflict where it was another, or where somebody else adjudicated the claim.
        """
        values = label.model_dump(include=set(_COLUMNS.split(", ")))
        with self._change(label, expected) as database:
            try:
                database.execute(
                    f"INSERT OR REPLACE INTO labels ({_COLUMNS}) VALUES "  # noqa: S608
                    "(:question_id, :claim_hash, :annotator, :adjudication, :text, :label, :note)",
                    values,
                )
            except sqlite3.IntegrityError as error:
                raise InputError(f"the label cannot be saved: {error}") from None

    def remove(self, label: HumanLabel, expected: LabelValue | None) -> None:
        """Take this annotator's label of the claim away. Raises Conflict as ``save`` does."""
        with self._change(label, expected) as database:
            database.execute(
                f"DELETE FROM labels WHERE {_CLAIM} AND annotator = ? AND adjudication = ?",  # noqa: S608
                (label.question_id, label.claim_hash, label.annotator, label.adjudication),
            )

    @contextmanager
    def _change(
        self, label: HumanLabel, expected: LabelValue | None
    ) -> Iterator[sqlite3.Connection]:
        """A transaction that begins with the check of what is there."""
        claim = (label.question_id, label.claim_hash)
        with self._open() as database:
            database.execute("BEGIN IMMEDIATE")
            rows = database.execute(
                f"SELECT annotator, label FROM labels WHERE {_CLAIM} AND adjudication = ?",  # noqa: S608
                (*claim, label.adjudication),
            ).fetchall()
            own = [row["label"] for row in rows if row["annotator"] == label.annotator]
            others = [row["annotator"] for row in rows if row["annotator"] != label.annotator]
            if label.adjudication and others:
                raise Conflict(f"'{others[0]}' has already settled this claim")
            if (own[0] if own else None) != expected:
                raise Conflict(
                    f"this claim's label by '{label.annotator}' was changed in another window"
                )
            yield database
            # An adjudication settles a dispute; where the dispute is gone, so is it.
            database.execute(
                f"DELETE FROM labels WHERE {_CLAIM} AND adjudication = 1 AND "  # noqa: S608
                f"(SELECT count(DISTINCT label) FROM labels WHERE {_CLAIM} AND adjudication = 0) "
                "< 2",
                (*claim, *claim),
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection of this call's own: it commits at the end, or rolls back on an error."""
        database: sqlite3.Connection | None = None
        try:
            database = sqlite3.connect(self.path, timeout=10, isolation_level=None)
            database.row_factory = sqlite3.Row
            yield database
            if database.in_transaction:
                database.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise EnvironmentFault(f"{self.path} cannot be used: {error}") from None
        except sqlite3.DatabaseError as error:
            raise InputError(f"{self.path} is no file of labels: {error}") from None
        finally:
            if database is not None:
                database.close()


def is_store(content: bytes) -> bool:
    """Whether a file's beginning is SQLite's."""
    return content.startswith(_MAGIC)
