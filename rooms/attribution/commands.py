"""``simulrag ask --why``: which evidence each claim of an answer stands on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flows.params import Params
    from flows.project import Project
    from rooms.attribution.records import Attribution
    from simulrag.records import Answer


@dataclass(frozen=True)
class Why:
    """What the claims of an answer stand on, to show."""

    found: Attribution

    def as_json(self) -> list[dict[str, Any]]:
        """For programs: one object a claim, in the order of the answer's claims."""
        fields = {"text", "support", "shares", "conditions", "failure"}
        return [claim.model_dump(mode="json", include=fields) for claim in self.found.claims]

    def show(self) -> None:
        """For people: the class of each claim, as it was drafted, and what each source adds."""
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table("claim, as drafted", "stands on", "simulator", "documents", title="Why")
        for claim in self.found.claims:
            simulator, documents = "-", "-"
            if claim.shares is not None:
                simulator = f"{claim.shares.simulator:+.2f}"
                documents = f"{claim.shares.documents:+.2f}"
            support = claim.support or f"failed: {claim.failure}"
            table.add_row(Text(claim.text), support, simulator, documents)
        console = Console(highlight=False)
        console.print(table)
        console.print(
            "What each source adds to the chance that the draft of a claim holds, from -1 to 1; "
            "'against': the evidence speaks against the draft.",
            style="dim",
        )


def why(project: Project, params: Params, question: str, answer: Answer) -> Why:
    """By source and by verdicts, which were paid for, whatever params.yaml names.

    Raises ModelError where a call failed.
    """
    import asyncio

    from flows.running.bench import open_bench
    from rooms.attribution.attribute import attribute
    from rooms.attribution.settings import AttributionParams
    from simulrag.errors import ModelError

    how = {"estimator": "by_source", "chances": "verdicts"}
    settings = params.room(AttributionParams).model_copy(update=how)

    async def found() -> Attribution:
        async with open_bench(project, params, "ask", "answer") as bench:
            return await attribute(question, answer, bench.gateway, settings)

    result = asyncio.run(found())
    if result.failure is not None:
        raise ModelError(f"step attribution: {result.failure}")
    return Why(result)
