"""The section ``routing`` of params.yaml."""

from __future__ import annotations

from pydantic import Field

from flows.sections import RoomSection


class RoutingParams(RoomSection):
    """Whether questions are sent to the source that can answer them."""

    domains: list[str] = Field(default=[], description="domains to measure; []: none")
    near_misses: int = Field(
        default=16,
        ge=0,
        le=50,
        description="questions of a domain, written by a model, that no source can quite answer",
    )
