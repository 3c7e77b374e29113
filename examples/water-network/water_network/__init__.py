"""A drinking water network on EPANET."""

from water_network.simulator import WaterNetwork

__all__ = ["WaterNetwork"]
