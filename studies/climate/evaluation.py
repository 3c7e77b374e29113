"""How well the emulator does where it was not trained."""

from __future__ import annotations

import numpy as np

from simulators.climate.emulator import Emulator
from simulators.climate.emulator.inputs import Single
from simulators.climate.temperature import Z90
from simulators.climate.warming import SCENARIOS
from studies.climate.samples import HELD_OUT_REGIONS, HELD_OUT_SCENARIO, Part, draw

SETTINGS = 2000
SEED = 20262
PARTS: dict[str, Part] = {
    "held_out_scenario": "scenario",
    "held_out_regions": "regions",
    "held_out_scenario_and_regions": "both",
}


def evaluate(emulator: Emulator, settings: int = SETTINGS) -> dict[str, object]:
    """Errors by part that was held out; units are in the names."""
    report: dict[str, object] = {
        "scenario": SCENARIOS[HELD_OUT_SCENARIO],
        "regions": list(HELD_OUT_REGIONS),
        "settings_a_part": settings,
    }
    for seed, (name, part) in enumerate(PARTS.items(), start=SEED):
        report[name] = part_errors(emulator, part, settings, seed)
    return report


def part_errors(emulator: Emulator, part: Part, settings: int, seed: int) -> dict[str, float]:
    """Errors on fresh samples of one part.

    ``mae_degc``: mean absolute difference of the emulator's mean and the simulator's ensemble mean.
    ``coverage_90``: share of draws (a member with scatter around it) within 5-95 % of the emulator.
    ``change_*``: of the change by changed emissions, where it is at least 0.005 degC;
    ``aerosol_*``: of changes by only aerosols, whatever their size, errors in hundredths of it.
    """
    samples = draw(part, settings, seed)
    after, before = emulator.predict(samples.inputs), emulator.predict(samples.baseline_inputs)
    mean = samples.full.mean(axis=1)
    random = np.random.default_rng(seed)
    member = random.integers(samples.full.shape[1], size=len(mean))
    of_member = samples.full[np.arange(len(mean)), member]
    drawn = of_member + samples.scatter * random.standard_normal(len(mean))
    change = samples.changed.mean(axis=1)
    emulated = (after - before).mean
    clear = np.abs(change) >= 0.005
    felt = samples.felt.mean(axis=1)
    alone = (felt != 0) & (np.abs(change - felt) < 1e-7)
    return {
        "mae_degc": _shown(np.abs(after.mean - mean).mean()),
        "worst_degc": _shown(np.abs(after.mean - mean).max()),
        "coverage_90": _shown((np.abs(drawn - after.mean) <= Z90 * after.sd).mean()),
        "spread_ratio": _shown((after.sd / _sd(samples.full, samples.scatter)).mean()),
        "change_mae_degc": _shown(np.abs(emulated - change)[clear].mean()),
        "change_sign_accuracy": _shown((emulated * change > 0)[clear].mean()),
        "aerosol_error_percent": _shown(
            100 * np.abs(emulated - felt)[alone].sum() / np.abs(felt)[alone].sum()
        ),
        "aerosol_sign_accuracy": _shown((emulated * felt > 0)[alone].mean()),
    }


def _sd(full: Single, scatter: Single) -> Single:
    return np.asarray(np.hypot(full.std(axis=1), scatter))


def _shown(value: np.floating) -> float:
    return round(float(value), 4)
