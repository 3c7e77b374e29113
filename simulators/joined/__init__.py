"""Two sources, or more, as one simulator."""

from simulators.joined.simulator import JoinedSimulator

__all__ = ["JoinedSimulator"]
