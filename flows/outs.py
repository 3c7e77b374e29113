"""What the outs of a run hold, for the parts of the report that rooms bring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flows.params import Params
from flows.project import Project, Results
from flows.report.run import LabelTable
from simulrag.records import Question

Labels = Mapping[str, LabelTable]


@dataclass(frozen=True)
class RunOutputs:
    """What a room's part of the page is read from; by domain the labels, and the questions by id.

    ``ours``: the outs are the pipeline's, where what an earlier run left is passed over.
    """

    project: Project
    params: Params
    place: Results
    domains: list[str]
    labels: Labels
    questions: Mapping[str, Mapping[str, Question]]

    @property
    def ours(self) -> bool:
        return self.place == self.project.results
