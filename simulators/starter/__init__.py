"""A simulator for SimulRAG."""

from simulators.starter.simulator import Starter

__all__ = ["Starter"]
