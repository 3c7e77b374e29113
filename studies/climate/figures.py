"""Figures for the documentation: ``python -m studies.climate.figures DIR``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from simulators.climate import temperature
from simulators.climate.emulator import emulator
from simulators.climate.temperature import PHYSICS
from simulators.climate.warming import SCENARIOS
from studies.climate.samples import HELD_OUT_REGIONS

_COLOURS = dict(zip(SCENARIOS, ("#1b6ca8", "#5aa469", "#d89b2b", "#b0413e"), strict=True))


def warming_curves(path: Path) -> None:
    """Global warming above 1850-1900 with ranges of 5-95 %, PNG."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
    past = np.arange(1850, 2015)
    found = temperature.global_temperature(past, SCENARIOS[0]).baseline
    axes.fill_between(past, found.low, found.high, color="#888888", alpha=0.3, lw=0)
    axes.plot(past, found.mean, color="#333333", label="past")
    years = np.arange(2015, 2101)
    for scenario, colour in _COLOURS.items():
        found = temperature.global_temperature(years, scenario).baseline
        axes.fill_between(years, found.low, found.high, color=colour, alpha=0.2, lw=0)
        axes.plot(years, found.mean, color=colour, label=scenario)
    axes.set(xlabel="year", ylabel="warming above 1850-1900 (degC)", xlim=(1850, 2100))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def warming_map(path: Path) -> None:
    """Warming of 2081-2100 against 1995-2014 under ssp245, PNG."""
    import matplotlib.pyplot as plt

    lat, lon = np.arange(-89.5, 90), np.arange(-179.5, 180)
    rows, columns = (axis.ravel() for axis in np.meshgrid(lat, lon, indexing="ij"))
    # pattern scaling is linear in global warming, so two middle years stand for the periods
    before = PHYSICS.history_temperature(rows, columns, 2005).mean
    after = PHYSICS.future_temperature(rows, columns, 2090, "ssp245").mean
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    change = (after - before).reshape(len(lat), len(lon))
    drawn = axes.pcolormesh(lon, lat, change, cmap="YlOrRd", vmin=0, vmax=6, rasterized=True)
    land = temperature.is_land(rows, columns).reshape(change.shape)
    axes.contour(lon, lat, land, levels=[0.5], colors="#333333", linewidths=0.4)
    figure.colorbar(drawn, ax=axes, label="warming 2005 to 2090, ssp245 (degC)", extend="max")
    axes.set(xlabel="longitude", ylabel="latitude", aspect="equal")
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def emulator_against_physics(path: Path) -> None:
    """The emulator in a scenario and at places that were held out from its training, PNG."""
    import matplotlib.pyplot as plt

    emulated = emulator()
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 3.8), layout="constrained", width_ratios=(1.6, 1)
    )
    lat, lon = np.arange(-89.0, 90, 2), np.arange(-179.0, 180, 2)
    rows, columns = (axis.ravel() for axis in np.meshgrid(lat, lon, indexing="ij"))
    own = PHYSICS.future_temperature(rows, columns, 2090, "ssp245").mean
    difference = emulated.future_temperature(rows, columns, 2090, "ssp245").mean - own
    drawn = left.pcolormesh(
        lon, lat, difference.reshape(len(lat), -1), cmap="RdBu_r", vmin=-0.3, vmax=0.3
    )
    land = temperature.is_land(rows, columns).reshape(len(lat), -1)
    left.contour(lon, lat, land, levels=[0.5], colors="#333333", linewidths=0.4)
    for south, north, west, east in HELD_OUT_REGIONS.values():
        corners = [west, east, east, west, west], [south, south, north, north, south]
        left.plot(*corners, color="#2a7f3f", lw=1.2)
    figure.colorbar(drawn, ax=left, label="emulator minus physics, 2090, ssp245 (degC)")
    left.set(xlabel="longitude", ylabel="latitude", aspect="equal")
    years = np.arange(2015, 2101)
    for source, name, colour in (
        (PHYSICS, "physics", "#333333"),
        (emulated, "emulator", "#b0413e"),
    ):
        found = source.future_temperature(28.6, 77.2, years, "ssp245")
        right.fill_between(years, found.low, found.high, color=colour, alpha=0.15, lw=0)
        right.plot(years, found.mean, color=colour, label=name)
    right.set(xlabel="year", ylabel="Delhi, ssp245 (degC)", xlim=(2015, 2100))
    right.grid(alpha=0.3)
    right.legend(frameon=False, loc="upper left")
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.climate.figures")
    parser.add_argument("dir", type=Path, help="where the figures go")
    given = parser.parse_args(argv)
    import matplotlib as mpl

    mpl.use("Agg")
    given.dir.mkdir(parents=True, exist_ok=True)
    warming_curves(given.dir / "warming.png")
    warming_map(given.dir / "map.png")
    emulator_against_physics(given.dir / "emulator.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
