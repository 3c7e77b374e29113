"""A downtown traffic corridor on SUMO."""

from simulators.urban.simulator import UrbanSimulator

__all__ = ["UrbanSimulator"]
