"""A reservoir that a town draws water from, as a simulator for SimulRAG."""

from simulators.starter.simulator import Starter

__all__ = ["Starter"]
