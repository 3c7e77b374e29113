"""What a benchmark yields: name, value, unit, and how many were measured."""

from __future__ import annotations

Figure = tuple[str, float, str, int]
