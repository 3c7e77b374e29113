"""A medium voltage grid on power-grid-model."""

from power_grid.simulator import PowerGrid

__all__ = ["PowerGrid"]
