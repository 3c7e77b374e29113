"""Curves of three scenarios: ``python -m simulators.epidemiology.training.figures FILE.png``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

from simulators.base import RunError
from simulators.epidemiology.arguments import ForecastArguments
from simulators.epidemiology.simulator import EpidemiologySimulator

STATES = ["Nevada", "New Hampshire"]
START = date(2022, 10, 5)
SHOWN_DAYS = 210
SCENARIOS = ((2.4, "none", 30), (2.4, "high", 20), (1.85, "moderate", 40))
"""R0, seasonality, prior immunity in percent."""


def draw(file: Path) -> None:
    """Hospital prevalence with its 90 % band, 100 members a scenario."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    simulator = EpidemiologySimulator()
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), constrained_layout=True)
    for axis, (r0, seasonality, immunity) in zip(axes, SCENARIOS, strict=True):
        call = {
            "states": STATES,
            "start_date": START.isoformat(),
            "r0": r0,
            "seasonality": seasonality,
            "prior_immunity_percent": immunity,
            "metric": "hospital prevalence",
            "daily": True,
        }
        outputs = simulator.run("forecast", ForecastArguments.model_validate(call), 0)
        daily = outputs.daily
        if daily is None:
            raise RunError("the forecast came without its daily quantiles")
        days = [START + timedelta(days=day) for day in range(len(daily.median))]
        axis.fill_between(
            days, daily.lower_90, daily.upper_90, color="#9ecae1", label="90 % of members"
        )
        axis.plot(days, daily.median, color="#08519c", label="median")
        axis.axvline(date.fromisoformat(outputs.peak_date), color="#636363", lw=0.8, ls=":")
        axis.set_title(f"R0 {r0}, seasonality {seasonality}, {immunity} % immune", fontsize=10)
        axis.set_ylim(0)
        axis.set_xlim(days[0], days[SHOWN_DAYS])
        axis.grid(alpha=0.25)
        months = [day for day in days[:SHOWN_DAYS] if day.day == 1 and day.month % 2 == 1]
        axis.set_xticks(months, [day.strftime("%b") for day in months])
    axes[0].set_ylabel("people in hospital,\n" + " and ".join(STATES))
    axes[0].legend(frameon=False, fontsize=9)
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
