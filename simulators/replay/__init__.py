"""Published evidence, looked up by the question: for running the method on a given benchmark."""

from simulators.replay.simulator import ReplaySimulator

__all__ = ["ReplaySimulator"]
