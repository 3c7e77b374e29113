"""Stage ``simulator``: the identity of a domain's simulator, as a file that lineage can follow.

A simulator may be a package of somebody else's. What DVC needs to know of it, whether its
results or its handbook may have changed, is its fingerprint and the handbook's hash; both are
written to ``data/simulators/<domain>.json``, which changes only when they do. The stage is cheap
and always runs.
"""

from __future__ import annotations

import argparse
import hashlib
import json

from flows.files import write_text
from flows.params import load_stage_params
from flows.project import find_project
from flows.stage import exits, load_simulator


def main() -> None:
    """``python -m flows.simulator --domain urban``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domain", required=True)
    domain = parser.parse_args().domain
    project = find_project()
    params = load_stage_params(project, "simulator")
    simulator = load_simulator(project, params, domain)
    identity = {
        "domain": domain,
        "simulator": simulator.name,
        "oracle": simulator.oracle,
        "tools": sorted(simulator.tools),
        "fingerprint": simulator.fingerprint(),
        "handbook_sha256": hashlib.sha256(simulator.handbook().encode()).hexdigest(),
        "templates_sha256": hashlib.sha256(
            "\0".join(tool.template for tool in simulator.tools.values()).encode()
        ).hexdigest(),
    }
    text = json.dumps(identity, indent=2, sort_keys=True) + "\n"
    write_text(project.results.simulator(domain), text)


if __name__ == "__main__":
    raise SystemExit(exits(main))
