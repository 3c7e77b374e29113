"""Where questions lie between two passes over them: in a file, so that memory does not hold them.

The file has no name, so that a crash leaves nothing behind.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from flows.stages.work import State
from simulrag.errors import EnvironmentFault
from simulrag.records import Answer


class Shelf:
    """The states of questions by their place in the benchmark; a context manager.

    ``folder``: on whose disk they lie (None: the system's folder for temporary files). What a pass
    puts back lies behind what it took, whose room is free again when the shelf is closed.

    Raises EnvironmentFault where the disk does not take them.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        # Closed by close(), and by the system when this process ends, in whatever way.
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._starts = array("q")
        self._sizes = array("q")
        self._end = 0

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, state: State) -> None:
        """A further question, at the end."""
        self._starts.append(0)
        self._sizes.append(0)
        self.put(len(self) - 1, state)

    def put(self, index: int, state: State) -> None:
        """Replace a question's state."""
        text = state.model_dump_json().encode()
        try:
            self._file.seek(self._end)
            self._file.write(text)
            self._file.flush()
        except OSError as error:
            raise EnvironmentFault(
                f"the answers so far cannot be kept in {self._folder or tempfile.gettempdir()}: "
                f"{error.strerror}. Every finished call is stored: free space and run again"
            ) from None
        self._starts[index], self._sizes[index] = self._end, len(text)
        self._end += len(text)

    def get(self, index: int) -> State:
        """A question's state as it was put there last."""
        self._file.seek(self._starts[index])
        return State.model_validate_json(self._file.read(self._sizes[index]))

    def answers(self) -> Iterator[Answer]:
        """Every question's answer so far, in order, one in memory at a time."""
        return (self.get(index).answer for index in range(len(self)))

    def close(self) -> None:
        """Give the room back."""
        with suppress(OSError):  # what a full disk did not take is not needed any more
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
