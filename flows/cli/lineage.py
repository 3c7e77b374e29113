"""The deps of dvc.yaml from what the code really reads, and its outs by domain.

For each stage: the files of our packages that its flow imports (grimp), the prompts that those
files ask for, the report's templates, and the outs of the stages before it. ``python -m
flows.cli.lineage`` writes them into dvc.yaml; a test compares.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import io
from pathlib import Path

import grimp
from ruamel.yaml import YAML

from flows.stages.metrics import CALLING
from flows.params import load_params
from flows.project import Project, find_project
from flows.stages.bench import exits
from simulrag.errors import InputError
from simulrag.metrics.claim_level import BUDGETED
from simulrag.metrics.names import FIGURE_METRICS, PICTURES
from simulrag.metrics.tables import COLUMNS

PACKAGES = ("flows", "simulators", "simulrag")
PER_DOMAIN = {
    "benchmark": ["data/simulators/{d}.json"],
    "answer": ["data/simulators/{d}.json", "data/benchmark/{d}.jsonl"],
    "label": ["data/benchmark/{d}.jsonl", "data/answers/{d}.jsonl"],
}
POOLED = {
    "metrics": [
        "data/benchmark/{d}.jsonl",
        "data/answers/{d}.jsonl",
        "data/labels/{d}.parquet",
        "data/labels/{d}-final-claims.jsonl",
        "data/labels/human.jsonl",
        *(f"data/calls/{stage}-{{d}}.parquet" for stage in CALLING),
        "prices.yaml",
    ],
    "report": [
        "data/metrics/summary.json",
        *(f"data/metrics/{name}.csv" for name in COLUMNS),
        "data/simulators/{d}.json",
        "data/benchmark/{d}.jsonl",
        "data/answers/{d}.jsonl",
        "data/labels/{d}.parquet",
        "data/labels/{d}-final-claims.jsonl",
    ],
}


def stage_deps(project: Project, domains: list[str]) -> dict[str, list[str]]:
    """The deps that each stage of dvc.yaml must name."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    deps: dict[str, list[str]] = {}
    for stage in (*PER_DOMAIN, *POOLED):
        module = f"flows.{stage}"
        modules = sorted({module, *graph.find_upstream_modules(module)})
        code = [_file(project, name) for name in modules]
        data = [path.format(d="${item.domain}") for path in PER_DOMAIN.get(stage, [])]
        pooled = (path.format(d=d) for d in domains for path in POOLED.get(stage, []))
        data += dict.fromkeys(pooled)
        extra: list[str] = []
        if stage == "report":
            folder = project.root / "simulrag" / "evaluation"
            kinds = ("*.j2", "*.css", "*.js")
            extra = [str(p.relative_to(project.root)) for k in kinds for p in folder.glob(k)]
            extra += [str(p.relative_to(project.root)) for p in project.published.glob("*.csv")]
        deps[stage] = data + sorted(code + _prompts(project, code) + extra)
    return deps


def metric_outs(domains: list[str]) -> list[object]:
    """The tables of the metrics stage, and summary.json, which git keeps."""
    names = [*COLUMNS, *(f"curves-{metric}-{d}" for d in domains for metric in FIGURE_METRICS)]
    kept: dict[str, object] = {"data/metrics/summary.json": {"cache": False}}
    return [*(f"data/metrics/{name}.csv" for name in names), kept]


def headlines(domains: list[str]) -> list[object]:
    """What ``dvc metrics show`` prints: a line a domain, in files that git keeps."""
    return [{f"data/metrics/{domain}.json": {"cache": False}} for domain in domains]


def plots(domains: list[str]) -> list[object]:
    """What ``dvc plots show`` draws: a line a method against the budget, for each domain.

    DVC's page loads its plotting library from the network; the report's own figures, which show
    the same and the cost, are pictures and need none, so they come first.
    """
    pictures = [
        f"data/report/figures/{domain}-{name}.png" for domain in domains for name in PICTURES
    ]
    curves: list[object] = [
        {
            f"{title} against budget ({domain})": {
                "x": "budget_percent",
                "x_label": "verification budget (%)",
                "y_label": title,
                "y": {f"data/metrics/curves-{metric}-{domain}.csv": list(BUDGETED)},
            }
        }
        for domain in domains
        for metric, title in FIGURE_METRICS.items()
    ]
    return [*pictures, *curves]


def write_deps(project: Project) -> None:
    """Bring dvc.yaml up to date, comments and order kept."""
    text = lineage(project, load_params(project.params).domains)
    (project.root / "dvc.yaml").write_text(text, encoding="utf-8")


def lineage(project: Project, domains: list[str]) -> str:
    """The project's dvc.yaml with the deps, outs and plots that its code has for some domains."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1000
    yaml.indent(mapping=2, sequence=4, offset=2)
    document = yaml.load((project.root / "dvc.yaml").read_text(encoding="utf-8"))
    for stage, deps in stage_deps(project, domains).items():
        document["stages"][stage]["deps"] = deps
    document["stages"]["metrics"]["outs"] = metric_outs(domains)
    document["stages"]["metrics"]["metrics"] = headlines(domains)
    document["plots"] = plots(domains)
    text = io.StringIO()
    yaml.dump(document, text)
    return text.getvalue()


def _file(project: Project, module: str) -> str:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise LookupError(f"no file for module {module}")
    file = Path(spec.origin).resolve()
    if not file.is_relative_to(project.root):
        raise InputError(
            f"this command's code is {file}, not the project's in {project.root}; activate the "
            "project's own .venv (`make setup` makes it)"
        )
    return str(file.relative_to(project.root))


def _prompts(project: Project, code: list[str]) -> list[str]:
    """The prompts that the files ask for by name: every literal that names a prompt file."""
    known = {path.name.removesuffix(".md.j2") for path in project.prompts.glob("*.md.j2")}
    asked: set[str] = set()
    for file in code:
        tree = ast.parse((project.root / file).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "attr", None)
                first = node.args[0]
                if name == "ask" and isinstance(first, ast.Constant) and first.value in known:
                    asked.add(str(first.value))
    return [f"prompts/{name}.md.j2" for name in asked | ({"repair"} & known if asked else set())]


def main() -> None:
    """``python -m flows.cli.lineage``."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    write_deps(find_project())


if __name__ == "__main__":
    raise SystemExit(exits(main))
