"""Emulator against model: ``python -m simulators.epidemiology.training.figures FILE.png``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from simulators.epidemiology.emulator import emulate, load_emulator
from simulators.epidemiology.ensemble import Conditions, run_ensemble
from simulators.epidemiology.places import find_states, load_places
from simulators.epidemiology.season import Measures
from simulators.epidemiology.summary import QUANTILES

STATES = ("Ohio", "Vermont")
MEMBERS = 100
START = date(2022, 10, 5)
CLOSED = Measures(
    school_closure_weeks=6,
    school_closure_start_week=3,
    community_reduction_percent=20,
    community_reduction_weeks=8,
    community_reduction_start_week=3,
)
SCENARIOS = (
    ("R0 2.4, no season, 30 % immune", Conditions(START, 2.4, 0.0, 30)),
    ("R0 2.2, high season, 35 % immune", Conditions(START, 2.2, 0.5, 35)),
    (
        "R0 2.6, moderate, 30 %, with measures",
        Conditions(START, 2.6, 0.25, 30, measures=CLOSED),
    ),
)


def draw(file: Path) -> None:
    """Median and 90 % band of hospital prevalence, by both backends."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = load_places().names
    places = [names.index(state) for state in find_states(STATES)]
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), constrained_layout=True)
    for axis, (title, one) in zip(axes, SCENARIOS, strict=True):
        theirs = run_ensemble(one, range(MEMBERS), 0)[:, :, places]
        ours = emulate(load_emulator(), [one], [places], MEMBERS, 0)[0]
        days = [one.start + timedelta(days=day) for day in range(one.days)]
        for series, colour, label in ((theirs, "#636363", "model"), (ours, "#d7301f", "emulator")):
            low, middle, high = np.quantile(series.sum(axis=2), QUANTILES, axis=0)
            axis.fill_between(days, low, high, color=colour, alpha=0.2, lw=0)
            axis.plot(days, middle, color=colour, lw=1.2, label=f"{label}, median and 90 %")
        axis.set_title(title, fontsize=10)
        axis.set_ylim(0)
        axis.set_xlim(days[0], days[240])
        axis.grid(alpha=0.25)
        months = [day for day in days[:240] if day.day == 1 and day.month % 2 == 1]
        axis.set_xticks(months, [day.strftime("%b") for day in months])
    axes[0].set_ylabel("people in hospital,\n" + " and ".join(STATES))
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(file, dpi=90, metadata={"Software": None})
    plt.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; 2 without exactly one file name."""
    given = sys.argv[1:] if argv is None else list(argv)
    if len(given) != 1:
        print("usage: python -m simulators.epidemiology.training.figures FILE.png", file=sys.stderr)
        return 2
    draw(Path(given[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
