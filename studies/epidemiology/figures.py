"""Figures for the documentation: ``python -m studies.epidemiology.figures DIR``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulators.epidemiology.disease import DISEASE, Measures
from simulators.epidemiology.emulator import emulate, load_emulator
from simulators.epidemiology.ensemble import Conditions, run_ensemble
from simulators.epidemiology.places import find_states, load_places
from simulators.epidemiology.summary import QUANTILES

START = date(2022, 10, 5)
MEMBERS = 100
COLOURS = ("#08519c", "#d7301f")
CLOSED = Measures(
    school_closure_weeks=6,
    school_closure_start_week=3,
    community_reduction_percent=20,
    community_reduction_weeks=8,
    community_reduction_start_week=3,
)
CURVES = {
    "R0 2.4, seasonality none, 30 % immune": Conditions(START, 2.4, 0.0, 30),
    "R0 2.4, seasonality high, 20 % immune": Conditions(START, 2.4, DISEASE.high_drop, 20),
    "R0 1.85, seasonality moderate, 40 % immune": Conditions(
        START, 1.85, DISEASE.moderate_drop, 40
    ),
}
AGAINST_EMULATOR = {
    "R0 2.4, no season, 30 % immune": Conditions(START, 2.4, 0.0, 30),
    "R0 2.2, high season, 35 % immune": Conditions(START, 2.2, 0.5, 35),
    "R0 2.6, moderate, 30 %, with measures": Conditions(START, 2.6, 0.25, 30, measures=CLOSED),
}


def draw(
    path: Path, scenarios: Mapping[str, Conditions], states: Sequence[str], *, emulator: bool
) -> None:
    """Median and 90 % band of hospital prevalence, beside the emulator's where asked for, PNG."""
    import matplotlib.pyplot as plt

    names = load_places().names
    places = [names.index(state) for state in find_states(states)]
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), constrained_layout=True)
    for axis, (title, one) in zip(axes, scenarios.items(), strict=True):
        series: dict[str, NDArray[np.int64]] = {
            "model": run_ensemble(one, range(MEMBERS), 0)[:, :, places]
        }
        if emulator:
            series["emulator"] = emulate(load_emulator(), [one], [places], MEMBERS, 0)[0]
        days = [one.start + timedelta(days=day) for day in range(one.days)]
        for (label, found), colour in zip(series.items(), COLOURS, strict=False):
            low, middle, high = np.quantile(found.sum(axis=2), QUANTILES, axis=0)
            axis.fill_between(days, low, high, color=colour, alpha=0.2, lw=0)
            axis.plot(days, middle, color=colour, lw=1.2, label=f"{label}, median and 90 %")
        axis.set_title(title, fontsize=10)
        axis.set_ylim(0)
        axis.set_xlim(days[0], days[240])
        axis.grid(alpha=0.25)
        months = [day for day in days[:240] if day.day == 1 and day.month % 2 == 1]
        axis.set_xticks(months, [day.strftime("%b") for day in months])
    axes[0].set_ylabel("people in hospital,\n" + " and ".join(states))
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=90, metadata={"Software": None})
    plt.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.epidemiology.figures")
    parser.add_argument("dir", type=Path, help="where the figures go")
    given = parser.parse_args(argv)
    import matplotlib as mpl

    mpl.use("Agg")
    given.dir.mkdir(parents=True, exist_ok=True)
    states = ("Nevada", "New Hampshire")
    draw(given.dir / "epidemiology-curves.png", CURVES, states, emulator=False)
    states = ("Ohio", "Vermont")
    draw(given.dir / "epidemiology-emulator.png", AGAINST_EMULATOR, states, emulator=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
