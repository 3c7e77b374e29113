"""Stage ``simulators``: the identity of every domain's simulator, as files that lineage can follow.

Beside them what rooms have lineage know of files that may lie outside of the project, where no
dependency of DVC reaches: their modules ``lineage``, with ``MAKES`` and ``write``.

A simulator may be a package of somebody else's. What DVC needs to know of it, whether its results,
its handbook or its texts may have changed, is its fingerprint and two hashes, written to
``data/simulators/<domain>.json``, which changes only when they do. The stage always runs, so it
imports no more than it needs: no engine, no model, no Prefect.
"""

from __future__ import annotations

import hashlib
import json

from flows.files import write_text
from flows.hooks import rooms
from flows.params_file import read_yaml
from flows.running.runner import StageContext
from simulators.base import Simulator, handbook_with_guide, set_up_facts
from simulrag.stage import Stage


async def make(context: StageContext) -> None:
    """Write the identities of the domains in params.yaml, and what rooms add."""
    project, params = context.project, context.params
    for domain in params.domains:
        simulator = params.load_simulator(domain, project.root)
        facts = identity(domain, simulator, set_up=params.of(domain).benchmark.set_up)
        if by_hand := params.simulator(domain).templates_file:
            text = json.dumps(read_yaml(project.root / by_hand), default=str)
            facts["templates_file_sha256"] = hashlib.sha256(text.encode()).hexdigest()
        text = json.dumps(facts, indent=2, sort_keys=True) + "\n"
        write_text(context.place.simulator(domain), text)
    for note in rooms().hook.lineage_note():
        note.write(project, params, context.place)


def identity(domain: str, simulator: Simulator, *, set_up: bool = False) -> dict[str, object]:
    """Return what changes when the simulator's results, handbook or texts may have changed.

    With ``set_up`` the facts count that a question's set-up is written from.
    """
    facts = {"set_up_sha256": hashlib.sha256(set_up_facts(simulator).encode()).hexdigest()}
    templates = "\0".join(tool.template for tool in simulator.tools.values())
    return {
        "domain": domain,
        "simulator": simulator.name,
        "oracle": simulator.oracle,
        "tools": sorted(simulator.tools),
        "fingerprint": simulator.fingerprint(),
        "handbook_sha256": hashlib.sha256(handbook_with_guide(simulator).encode()).hexdigest(),
        "templates_sha256": hashlib.sha256(templates.encode()).hexdigest(),
        **(facts if set_up else {}),
    }


STAGE = Stage(
    name="simulators",
    about="what lineage must know of each domain's simulator (fingerprint, handbook, texts) and of "
    "what rooms read (its hashes), wherever it lies",
    make=make,
    over="",
    makes=("data/simulators", *(out for note in rooms().hook.lineage_note() for out in note.makes)),
    always=True,
)
