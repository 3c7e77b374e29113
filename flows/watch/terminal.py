"""What reaches the terminal: words and colours, and no other command to it.

Names, handbooks, results and replies are written by somebody else. A control character in them
could set a window's title, clear the screen, hide a link or write to the clipboard.
"""

from __future__ import annotations

import re
import sys
from typing import Any, TextIO

_COLOUR_OR_OTHER = re.compile(
    r"(\x1b\[[0-9;]*m)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n)"
)


class Guarded:
    """A text stream that shows U+FFFD for a control character and for half a surrogate pair.

    Tabs and newlines stay.
    Sequences that set colours pass to a terminal, as our own tables have them; a file gets none.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the text that is left."""
        colours = self.stream.isatty()
        shown = _COLOUR_OR_OTHER.sub(lambda m: m[1] if m[1] and colours else "\ufffd", text)
        return self.stream.write(shown)

    def writelines(self, lines: list[str]) -> None:
        """Write each."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        """All else is the stream's own."""
        return getattr(self.stream, name)


def guard() -> None:
    """Guard both streams of this process, to its end: a traceback goes there too."""
    sys.stdout = Guarded(sys.stdout)
    sys.stderr = Guarded(sys.stderr)


def own(stream: TextIO) -> TextIO:
    """The stream below, for what moves the cursor and shows words of ours alone."""
    return stream.stream if isinstance(stream, Guarded) else stream
