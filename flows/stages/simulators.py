"""Stage ``simulators``: the identity of every domain's simulator, as files that lineage can follow.

Beside them, in ``data/sources``, the hashes of the documents that questions by form are made from:
these may lie outside of the project, where no dependency of DVC reaches.

A simulator may be a package of somebody else's. What DVC needs to know of it, whether its results,
its handbook or its texts may have changed, is its fingerprint and two hashes, written to
``data/simulators/<domain>.json``, which changes only when they do. The stage always runs, so it
imports no more than it needs: no engine, no model, no Prefect.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from flows.files import check_folder, write_text
from flows.running.runner import At
from simulators.base import Simulator, handbook_with_guide, set_up_facts
from simulrag.errors import InputError
from simulrag.stage import Stage


async def make(at: At) -> None:
    """Write the identities of the domains and the hashes of the documents in params.yaml."""
    project, params = at.project, at.params
    for domain in params.domains:
        simulator = params.load_simulator(domain, project.root)
        found = identity(domain, simulator, set_up=params.benchmark.set_up)
        text = json.dumps(found, indent=2, sort_keys=True) + "\n"
        write_text(at.place.simulator(domain), text)
    check_folder(at.place.source("any").parent)  # an out, also where no source is asked about
    for source in params.forms.sources:
        files = params.forms.documents[source].files if source in params.forms.documents else []
        hashes = {name: file_hashes(project.root / name) for name in files}
        text = json.dumps(hashes, indent=2, sort_keys=True) + "\n"
        write_text(at.place.source(source), text)


def file_hashes(place: Path) -> dict[str, str]:
    """The SHA-256 of a file, or of all files of a folder, by their paths in it.

    Raises InputError where there is neither.
    """
    if place.is_file():
        found = [place]
    elif place.is_dir():
        found = sorted(file for file in place.rglob("*") if file.is_file())
    else:
        raise InputError(f"params.yaml: forms.documents: there is no file or folder {place}")
    hashes = {}
    for file in found:
        with file.open("rb") as content:
            name = file.relative_to(place).as_posix() if place.is_dir() else file.name
            hashes[name] = hashlib.file_digest(content, "sha256").hexdigest()
    return hashes


def identity(domain: str, simulator: Simulator, *, set_up: bool = False) -> dict[str, object]:
    """What changes when the simulator's results, handbook or texts may have changed.

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
    "each source's documents (their hashes), wherever these lie",
    make=make,
    over="",
    makes=("data/simulators", "data/sources"),
    always=True,
)
