"""The whole pipeline, as DVC runs it: run, run again what failed, and show what came out.

DVC turns every exit code into its own. So a stage adds a JSON line when it begins and one when it
ends to the file that the environment names, where it names one. A killed stage has no second line.

Questions of files of one's own, a file a domain, run without DVC (``simulrag run --benchmark``):
answered from the evidence they came with, where they carry none by their domain's simulator.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flows.files import check_folder
from flows.imported import Imported
from flows.params import Params, load_params
from flows.plan import announce
from flows.project import Project, Results
from flows.running.bench import pending_words
from flows.running.runner import StageContext, make_item
from flows.stages import exports, stage_of, stages
from flows.watch.tracking import planned, say, warn
from simulrag.errors import (
    CallsPending,
    CoverageFailed,
    CoverageShort,
    EnvironmentFault,
    SimulRAGError,
)
from simulrag.records import Record


def retry_failed(project: Project, params: Params) -> None:
    """Run the stages whose outs hold failures again."""
    failed = failed_stages(project, params)
    if failed:
        sys.stderr.write(f"again: {', '.join(failed)}\n")
        dvc(project, "repro", "--force", "--single-item", "--keep-going", *failed)
    else:
        sys.stderr.write("no stage holds a failure\n")


def run_pipeline(project: Project, targets: list[str]) -> int:
    """``dvc repro --keep-going``; pulls the exported calls first where a remote is set."""
    params = load_params(project.params)  # a mistake in it is the user's to see first
    plan = None if targets else announce(project, params)
    if has_remote(project):
        _pull_calls(project, params)
    with planned(plan.calls() if plan else {}), gathered() as outcomes:
        code = min(1, dvc(project, "repro", "--keep-going", *targets))
        if code and outcomes.only_pending():
            sys.stderr.write(f"{pending_words(params.operations.place(project.root))}\n")
            return CallsPending.exit_code
        short = [end for end in outcomes.errors() if end.error == CoverageShort.__name__]
        others = len(outcomes.errors()) - len(short)
        enough = outcomes.all_ended() and not others and (short or not code)
        if short and enough and not targets:
            _go_on(project, params, short)
    if enough and not targets:
        show_table(project, params, project.results)
    return code


def _go_on(project: Project, params: Params, short: Sequence[StageEnd]) -> None:
    """Make what rests on stages that came short, and the report, from what came through.

    Not by DVC: to it they have failed, so that the next run makes them again.
    """
    for end in short:
        warn(f"going on with what came through: {end.text}")
        name, _, item = end.stage.partition("@")
        made = set(stage_of(name).makes)
        for stage in stages():
            if item in stage.items(params) and made.intersection(stage.reads):
                _made_short(StageContext(stage, project, params.of(item), item, project.results))
                made.update(stage.makes)
    make_item(StageContext(stage_of("report"), project, params, "", project.results))


def _made_short(context: StageContext) -> bool:
    """Make an item, and tell whether it came short, which is said."""
    try:
        make_item(context)
    except CoverageShort as error:
        warn(f"{context.item}: {error}")
        return True
    return False


def run_imported(project: Project, questions: Imported, out: Path) -> int:
    """Answer, label, measure and report imported questions into the folder ``out``; the exit code.

    A domain whose stage comes through in part, or waits for a batch, keeps none of the others up;
    the report is of those that came through.
    """
    given, place = load_params(project.params), Results(out)
    check_folder(out)
    params = questions.placed(project, given, place)
    plan = announce(project, given, questions, place)
    ended: dict[str, SimulRAGError] = {}
    short = False
    with planned(plan.calls() if plan else {}):
        for domain in params.domains:
            try:
                own = params.of(domain)
                for name in questions.stages:
                    context = StageContext(stage_of(name), project, own, domain, place)
                    short |= _made_short(context)
            except (CallsPending, CoverageFailed) as error:
                sys.stderr.write(f"{domain}: {error}\n")
                ended[domain] = error
    if whole := [domain for domain in params.domains if domain not in ended]:
        params = params.model_copy(update={"domains": whole})
        make_item(StageContext(stage_of("report"), project, params, "", place))
        show_table(project, params, place)
    return max((error.exit_code for error in ended.values()), default=int(short))


def failed_stages(project: Project, params: Params) -> list[str]:
    """Return the names, as DVC has them, of what stages made that holds a failure."""
    return [
        f"{stage.name}@{item}"
        for stage in stages()
        if stage.failed is not None
        for item in stage.items(params)
        if stage.failed(project.results, item)
    ]


def dvc_config(project: Project) -> Any:
    """DVC's configuration of a project: its own, and that of this machine."""
    from dvc.config import Config

    return Config(str(project.root / ".dvc"))


def has_remote(project: Project) -> bool:
    """Tell whether DVC has anywhere to pull from."""
    from dvc.config import ConfigError

    with suppress(ConfigError, UnicodeDecodeError):  # DVC itself says better what is wrong
        return bool(dvc_config(project)["remote"])
    return False


def dvc(project: Project, *arguments: str) -> int:
    """Run DVC; its exit code."""
    return run_child(project.root, *dvc_command(project), *arguments).returncode


def dvc_command(project: Project) -> tuple[str, ...]:
    """Return what starts DVC in a project, once its locks can be read. Raises EnvironmentFault."""
    _mend_locks(project.root / ".dvc" / "tmp")
    # As -m dvc, but Ctrl-C ends it without a traceback while it is imported.
    words = "import signal as s, sys; s.signal(2, s.SIG_DFL); sys.argv[0] = 'dvc'; import dvc.cli."
    words += "parser, dvc.config; s.signal(2, s.default_int_handler); sys.exit(dvc.cli.main())"
    return sys.executable, "-c", words


def _mend_locks(folder: Path) -> None:
    """Remove DVC's list of who works on what where a kill left none: it would refuse all."""
    if _is_list(file := folder / "rwlock"):
        return
    from dvc.lock import Lock, LockError

    try:
        with Lock(str(folder / "rwlock.lock")):
            if not _is_list(file):  # so nobody is just writing it
                file.unlink()
                sys.stderr.write(f"removed {file}: an interruption left it cut off\n")
    except LockError:
        raise EnvironmentFault(f"{file} is cut off, and another DVC is at it: let it end") from None


def _is_list(file: Path) -> bool:
    try:
        return not file.exists() or isinstance(json.loads(file.read_bytes()), dict)
    except (ValueError, RecursionError):
        return False
    except OSError as error:
        raise EnvironmentFault(f"{file} cannot be read: {error.strerror}") from None


def _pull_calls(project: Project, params: Params) -> None:
    calls = project.results.calls
    files = [str(calls(name).relative_to(project.root)) for name in exports(params)]
    if dvc(project, "pull", "--allow-missing", *files) != 0:
        sys.stderr.write("warning: the remote's calls could not be pulled; going on without\n")


def show_table(project: Project, params: Params, place: Results, *, every: bool = False) -> None:
    """Print the table of the outs in ``place``, and where the report lies."""
    from rich.console import Console

    from flows.report.run import ReportedRun, read_domains
    from flows.report.sections.overview import STAND_IN, stand_in_words
    from flows.report.terminal import terminal_table

    console = Console()
    domains = read_domains(place.metrics, params.domains)
    run = ReportedRun(params.metrics, domains, min_coverage=params.operations.min_coverage)
    console.print(terminal_table(run, every=every))
    models = {"answer": params.llm.answer, "judge": params.llm.judge}
    if roles := [role for role, model in models.items() if model.provider == STAND_IN]:
        warn(stand_in_words(roles))
    report = place.report
    if report.is_relative_to(project.root):
        report = report.relative_to(project.root)
    console.print(f"Report: {report}", highlight=False)


OUTCOMES = "SIMULRAG_OUTCOMES"
"""Environment variable: the file."""


def run_child(
    folder: Path,
    *command: str,
    capture_output: bool = False,
    stdin: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program in a project's folder. Raises EnvironmentFault where it cannot be started.

    This interpreter's folder comes first on PATH, so that the stages which DVC starts use it too.
    """
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=_environment(),
            capture_output=capture_output,
            stdin=stdin,
            text=True,
            check=False,
        )
    except OSError as error:
        raise EnvironmentFault(f"{command[0]} cannot be started: {error.strerror}") from None


def said_child(folder: Path, *command: str, environment: Mapping[str, str]) -> int:
    """Run a program as ``run_child`` does and say its lines as they come; its exit code.

    Said here, they reach the log of a flow run too.
    """
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**_environment(), "PYTHONUNBUFFERED": "1", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            say(line.rstrip("\n"))
    return process.returncode


def _environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "PATH": path, "DVC_NO_ANALYTICS": "1"}


class StageEnd(Record):
    """A stage's exit code (None: it began), with the class and the line of its error."""

    stage: str
    code: int | None = None
    error: str = ""
    text: str = ""


def note(stage: str, code: int | None = None, error: BaseException | None = None) -> None:
    """Append a line where ``OUTCOMES`` names a file. Raises EnvironmentFault."""
    place = os.environ.get(OUTCOMES)
    if place is None:
        return
    end = StageEnd(
        stage=stage,
        code=code,
        error=type(error).__name__ if error else "",
        text=" ".join(str(error).split()) if error else "",
    )
    try:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(end.model_dump_json() + "\n")
    except OSError as fault:
        if error is None:  # else the caller tells that
            raise EnvironmentFault(f"{OUTCOMES}: cannot write {place}: {fault.strerror}") from None


class StageOutcomes:
    """The outcomes noted so far."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def all(self) -> list[StageEnd]:
        """Return every whole line, in order; a stage that was killed may have left half of one."""
        ends = []
        for line in self._file.read_bytes().splitlines():
            with suppress(ValidationError):
                ends.append(StageEnd.model_validate_json(line))
        return ends

    def errors(self) -> list[StageEnd]:
        """Return the ends with an error."""
        return [end for end in self.all() if end.error]

    def only_pending(self) -> bool:
        """Tell whether some stage waits for a batch, and each that began waits or came through."""
        ended = [end.code for end in self.all() if end.code is not None]
        waits = CallsPending.exit_code
        return waits in ended and set(ended) <= {0, waits} and self.all_ended()

    def all_ended(self) -> bool:
        """Tell whether each stage that began has an end: none was killed."""
        codes = [end.code for end in self.all()]
        return 2 * codes.count(None) == len(codes)


@contextmanager
def gathered() -> Iterator[StageOutcomes]:
    """Have the stages that are started meanwhile note how they end."""
    before = os.environ.get(OUTCOMES)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outcomes.jsonl"
        file.touch()
        os.environ[OUTCOMES] = str(file)
        try:
            yield StageOutcomes(file)
        finally:
            if before is None:
                del os.environ[OUTCOMES]
            else:
                os.environ[OUTCOMES] = before
