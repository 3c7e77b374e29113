"""The daily chain-binomial step in torch, for all members of many scenarios at once on a GPU.

The same transitions as ``step``: exact binomial draws where their variance is at most
``EXACT_VARIANCE``, else a rounded Gaussian within bounds. Random numbers are torch's, so runs agree
with those of ``step`` in distribution and not draw by draw.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simulators.base import ArgumentError
from simulators.epidemiology.arguments import METRICS
from simulators.epidemiology.disease import DISEASE, Disease
from simulators.epidemiology.ensemble import Conditions, initial_states, member_inputs
from simulators.epidemiology.places import Places, load_places
from simulators.epidemiology.step import EXACT_VARIANCE
from simulators.epidemiology.trajectories import check_memory


def run_scenarios_torch(
    scenarios: Sequence[Conditions],
    members: int,
    seed: int,
    *,
    device: str = "cpu",
    disease: Disease = DISEASE,
    places: Places | None = None,
) -> NDArray[np.int64]:
    """(scenario, member, day, place) of each scenario's metric; all must last as many days.

    The same seed gives the same trajectories on the same device. Raises ArgumentError.
    """
    if len({one.days for one in scenarios}) != 1:
        raise ArgumentError("scenarios run together must have one and the same number of days")
    places = places or load_places()
    days = scenarios[0].days
    check_memory(members, days, len(scenarios))
    generator = torch.Generator(device).manual_seed(seed)
    states = _first_states(scenarios, members, seed, disease, places).to(device)
    inputs = [member_inputs(one, disease, places) for one in scenarios]

    def tensor(values: NDArray[np.float64]) -> Tensor:
        return torch.as_tensor(values, dtype=torch.float64, device=device)

    shares = tensor(inputs[0].shares)
    risk = tensor(inputs[0].hospital_risk)[:, None]
    onset, ending, leaving = inputs[0].rates.tolist()
    courses = tensor(
        np.stack(
            [one.transmission[:, None, None] * one.contacts[one.matrix_of_day] for one in inputs]
        )
    )
    metrics = torch.as_tensor([METRICS.index(one.metric) for one in scenarios], device=device)
    present = (states.sum(dim=2).double() @ shares).clamp(min=1e-300)
    out = torch.empty((len(scenarios), members, days, shares.shape[0]), dtype=torch.int64)
    for day in range(days):
        susceptible, latent, infectious, hospital = states[:, :, :4].unbind(dim=2)
        prevalence = (infectious.double() @ shares) / present
        here = torch.einsum("sab,smbp->smap", courses[:, day], prevalence)
        hazard = here @ shares.T + inputs[0].importation
        infected = binomial(susceptible, -torch.expm1(-hazard), generator)
        ill = binomial(latent, torch.full_like(hazard, onset), generator)
        ended = binomial(infectious, torch.full_like(hazard, ending), generator)
        admitted = binomial(ended, risk.expand_as(hazard), generator)
        left = binomial(hospital, torch.full_like(hazard, leaving), generator)
        seen = torch.stack([hospital, admitted, infected, latent, infectious])
        chosen = seen[metrics, torch.arange(len(scenarios), device=device)]
        out[:, :, day] = chosen.sum(dim=2).cpu()
        states = torch.stack(
            [
                susceptible - infected,
                latent + infected - ill,
                infectious + ill - ended,
                hospital + admitted - left,
                states[:, :, 4] + ended - admitted + left,
            ],
            dim=2,
        )
    return out.numpy()


def binomial(count: Tensor, chance: Tensor, generator: torch.Generator) -> Tensor:
    """Draws of Binomial(count, chance), elementwise; ``count`` int64, ``chance`` float64."""
    number = count.double()
    mean = number * chance
    variance = mean * (1 - chance)
    noise = torch.randn(count.shape, generator=generator, device=count.device, dtype=torch.float64)
    gaussian = torch.floor(mean + variance.sqrt() * noise + 0.5)
    large = variance > EXACT_VARIANCE
    # The exact sampler walks as long as its largest mean: large cells are kept out of it.
    small = torch.where(large, torch.zeros_like(number), number)
    exact = torch.binomial(small, chance.clamp(0, 1), generator)
    drawn = torch.where(large, gaussian, exact)
    return torch.minimum(drawn.clamp(min=0), number).long()


def _first_states(
    scenarios: Sequence[Conditions], members: int, seed: int, disease: Disease, places: Places
) -> Tensor:
    """(scenario, member, state, age, place), as ``ensemble.run_ensemble`` starts its members."""
    first = [
        [
            initial_states(one, disease, places, np.random.default_rng([seed, member]))
            for member in range(members)
        ]
        for one in scenarios
    ]
    return torch.from_numpy(np.array(first))
