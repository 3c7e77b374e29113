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
import re

import yaml

from flows.files import write_text
from flows.params import load_params, load_stage_params
from flows.project import Project, find_project
from flows.stages.bench import exits, load_simulator
from simulrag.errors import InputError


def main() -> None:
    """``python -m flows.stages.simulators --domain urban``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domain", required=True)
    domain = parser.parse_args().domain
    project = find_project()
    check_domains(project)
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


def check_domains(project: Project) -> None:
    """Raise InputError where dvc.yaml names the files of other domains than params.yaml.

    DVC would say so too, much later, as a missing file.
    """
    wanted, named = load_params(project.params).domains, lineage_domains(project)
    if named is not None and named != wanted:
        raise InputError(
            f"params.yaml has the domains {', '.join(wanted)} and dvc.yaml names the files of "
            f"{', '.join(named)}: run `python -m flows.cli.lineage` (or `simulrag run`, which does it) "
            "and the same command again"
        )


def lineage_domains(project: Project) -> list[str] | None:
    """The domains whose answers dvc.yaml measures, in its order; None without a dvc.yaml."""
    path = project.root / "dvc.yaml"
    if not path.is_file():
        return None
    deps = yaml.safe_load(path.read_text(encoding="utf-8"))["stages"]["metrics"]["deps"]
    found = (re.fullmatch(r"data/answers/(.+)\.jsonl", str(dep)) for dep in deps)
    return [match[1] for match in found if match is not None]


if __name__ == "__main__":
    raise SystemExit(exits(main))
