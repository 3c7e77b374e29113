"""The section ``routing`` of params.yaml."""

from __future__ import annotations

from pydantic import Field

from flows.sections import RoomSection


class RoutingParams(RoomSection):
    """Whether questions are sent to the source that can answer them."""

    domains: list[str] = Field(
        default=[], description="domains whose questions are routed, to measure it; []: none"
    )
    near_misses: int = Field(
        default=16,
        ge=0,
        le=50,
        description="questions a domain that a model writes and that no source can quite answer",
    )
