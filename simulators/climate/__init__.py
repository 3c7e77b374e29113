"""Annual mean temperature of any place from 1850 to 2100, and under changed emissions."""

from simulators.climate.simulator import ClimateSimulator

__all__ = ["ClimateSimulator"]
