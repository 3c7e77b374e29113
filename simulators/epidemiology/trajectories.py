"""The size of an ensemble's trajectories, and the limit on it."""

from __future__ import annotations

from simulators.base import ArgumentError

MEMORY_LIMIT_MIB = 512
PLACES = 51
BYTES = 8


def check_memory(members: int, days: int) -> None:
    """Raises ArgumentError where daily trajectories by place would exceed the stated limit.

    Meant to be called before anything is allocated.
    """
    per_member = days * PLACES * BYTES
    limit = MEMORY_LIMIT_MIB * 2**20
    if members * per_member > limit:
        raise ArgumentError(
            f"{members} members of {days} days need {members * per_member / 2**20:.0f} MiB, more "
            f"than the limit of {MEMORY_LIMIT_MIB} MiB; at most {limit // per_member} members fit"
        )
