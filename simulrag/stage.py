"""A stage is a value: what it runs over, reads, asks and makes, and the function that does it.

Declared without DVC and without Prefect: dvc.yaml is written from these declarations, one runner
executes any of them, and whatever goes over the stages (run, retry, record, plan, exports) goes
over this list. In paths and sections ``{item}`` stands for the domain or source.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["benchmark", "answer", "judge"]
"""A model of params.yaml's section ``llm``."""


@dataclass(frozen=True)
class Outcome:
    """What a stage made, for whoever watches.

    ``table``: Markdown. ``counts``: by what is counted, how many of how many came through.
    ``done`` of ``total`` is the coverage, which has to reach ``operations.min_coverage``; ``hints``
    say why something is missing, ``warning`` what its reader has to know though it came through.
    """

    table: str
    counts: Mapping[str, tuple[int, int]]
    done: int
    total: int
    hints: tuple[str, ...] = ()
    warning: str = ""

    @classmethod
    def of(cls, table: str, counted: str, failures: Sequence[str | None]) -> Outcome:
        """Take what was made one by one; an entry each: why it failed, None where it did not."""
        reasons = sorted({reason for reason in failures if reason})
        total = len(failures)
        done = sum(not reason for reason in failures)
        return cls(table, {counted: (done, total)}, done, total, tuple(reasons[:2]))


@dataclass(frozen=True)
class Stage:
    """One stage.

    ``make`` does the work of one item and returns its ``Outcome``, or None where there is nothing
    to count. ``over`` is the list in params.yaml that it runs over, once an entry ("": once), and
    ``each`` what an entry is. ``role`` is the model that it asks (None: no call; its calls are
    exported). ``sections`` of params.yaml that ``make`` reads, further to those of the role;
    ``reads``: files and folders that its result rests on, further to the code that its module
    imports; ``code``: such as is found by being there; ``makes``: its outs, ``measures`` those that
    DVC shows as metrics. ``failed``: whether the outs of an item hold a
    failure, to make again.
    ``always``: it runs each time, because what it looks at may lie outside of the project.
    """

    name: str
    about: str
    make: Callable[[Any], Awaitable[Outcome | None]]
    over: str = "domains"
    each: Literal["domain", "source"] = "domain"
    role: Role | None = None
    sections: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    failed: Callable[[Any, str], bool] | None = None
    always: bool = False

    def items(self, params: Any) -> list[str]:
        """List the domains or sources that it runs over; one "" where it runs once."""
        listed = params
        for name in filter(None, self.over.split(".")):
            listed = getattr(listed, name)
        return list(listed) if self.over else [""]

    def named(self, item: str) -> str:
        """``answer-urban``: the name of its export, of its flow run and of its counts."""
        return f"{self.name}-{item}" if item else self.name
