"""Documents as a simulator: a corpus with one tool, ``query_rag``."""

from simulators.library.simulator import LibrarySimulator

__all__ = ["LibrarySimulator"]
