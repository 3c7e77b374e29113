"""What can be wrong with a corpus, or with the files that one is built from."""

from __future__ import annotations

from simulators.base import ArgumentError, MissingEngineError


class CorpusError(ArgumentError):
    """The files or the settings of a corpus are wrong."""


class EmptyCorpus(CorpusError):  # noqa: N818 it says what is wrong, as the others do
    """Nothing that can be searched is there."""


class LicenceMissing(CorpusError):  # noqa: N818
    """A text comes without a licence, or without the name of who is to be credited."""


class NoText(CorpusError):  # noqa: N818
    """A file from which no text can be read, such as a PDF of scanned pages."""


class TooLarge(CorpusError):  # noqa: N818
    """More input than a corpus is built from."""


class CorpusChanged(MissingEngineError):  # noqa: N818
    """The corpus on disk is another one than the job began with, or was altered.

    No RunError: a model that is told of it could not mend it.
    """
