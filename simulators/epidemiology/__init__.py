"""Seasonal influenza in the states of the USA: a stochastic, age-stratified metapopulation."""

from simulators.epidemiology.simulator import EpidemiologySimulator

__all__ = ["EpidemiologySimulator"]
