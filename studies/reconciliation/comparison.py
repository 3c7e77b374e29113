"""Paper and reconciled answers against a known truth, at equal claims sent to the simulator.

A subject is true where an answer says something of it and nothing false. Drawn answers
(``synthetic_answers``) go through the project's own functions in four ways, all of which verify as
many claims as ``reconciled`` does:

- ``paper``: the claims of least closeness are verified, and all that is kept stands;
- ``voted``: the same, and then one voice a subject: the best supported answer, as corrected;
- ``settled``: the paper's claims again, but one verdict settles its facet, and one voice a subject;
- ``reconciled``: of the most uncertain subjects the claims that would speak for them; one verdict
  settles a facet, one voice a subject.

``python -m benchmarks reconciliation`` prints the figures, and
``python -m studies.reconciliation.picture FILE`` draws the figure of docs/how-it-works.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

from benchmarks.figures import Figure
from simulrag.method.reconciled import choose
from simulrag.method.reconciliation import one_voice
from simulrag.method.selection import candidates_of, keep, select_among
from simulrag.method.settings import MethodSettings
from simulrag.method.statements import statements_of
from simulrag.records import Selection
from studies.reconciliation.synthetic_answers import Drawn, World, draw

DRAWS = 1000
CURVE_DRAWS = 200
"""Draws for each point of the curves of misplaced claims and of correlation."""
BUDGETS = (0.0, 10.0, 25.0, 50.0, 75.0, 100.0)
"""Percent of the claims that may be verified."""
SHARES = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
CURVE_BUDGET = 25.0
Rule = Literal["paper", "voted", "settled", "reconciled"]
OTHERS: tuple[Rule, ...] = ("paper", "voted", "settled")


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % interval by the normal approximation."""

    mean: float
    lower: float
    upper: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        half = 1.96 * stdev(values) / len(values) ** 0.5
        mean = fmean(values)
        return cls(mean, mean - half, mean + half)


@dataclass(frozen=True)
class Compared:
    """One budget over all draws: true subjects by rule, and the share of claims that were sent."""

    budget_percent: float
    true: dict[Rule, tuple[int, ...]]
    sent: float

    def gain(self, over: Rule) -> Interval:
        """True subjects of ``reconciled`` less those of another rule, draw by draw."""
        pairs = zip(self.true["reconciled"], self.true[over], strict=True)
        return Interval.of([a - b for a, b in pairs])


def reconciliation() -> Iterator[Figure]:
    """Mean true subjects of each rule, gains of reconciled with their ends, and where they end."""
    drafts = drawn(World(), DRAWS)
    for kappa, name in ((0.0, ""), (None, "_with_kappa")):
        for found in compare(drafts, BUDGETS if kappa == 0 else (CURVE_BUDGET,), kappa=kappa):
            at = f"reconciliation_{found.budget_percent:g}_percent{name}"
            yield f"{at}_claims_sent", found.sent, "share", DRAWS
            for rule in (*OTHERS, "reconciled"):
                yield f"{at}_{rule}", fmean(found.true[rule]), "true subjects", DRAWS
            for rule in OTHERS:
                yield from _ends(f"{at}_gain_over_{rule}", found.gain(rule), DRAWS)
    for changed in ("misplaced", "correlation"):
        for share, one in curve(changed):
            at = f"reconciliation_{changed}_{share:g}_gain_over_paper"
            yield from _ends(at, one.gain("paper"), CURVE_DRAWS)


def drawn(world: World, draws: int) -> list[Drawn]:
    """The same seeds for every world, so that worlds are compared draw by draw too."""
    return [draw(world, seed) for seed in range(draws)]


def curve(changed: Literal["misplaced", "correlation"]) -> Iterator[tuple[float, Compared]]:
    """All rules at one budget while one thing of the world goes from 0 to 1."""
    for share in SHARES:
        misplaced = changed == "misplaced"
        world = World(misplaced=share) if misplaced else World(correlation=share)
        yield share, compare(drawn(world, CURVE_DRAWS), (CURVE_BUDGET,))[0]


def compare(
    drafts: Sequence[Drawn], budgets: Sequence[float] = BUDGETS, *, kappa: float | None = 0.0
) -> list[Compared]:
    """All rules at each budget, ascending.

    ``kappa`` None: the default quantile, of closeness for the paper's rules and of votes for the
    others.
    """
    settings = MethodSettings(
        method="reconciled",
        beside=("paper",),
        final_budgets_percent=tuple(budgets),
        kappa=kappa,
    )
    choices = choose([one.answer for one in drafts], settings)
    found = []
    for at, budget in enumerate(budgets):
        counts = [
            _true_subjects(one, own[at].kappa, own[len(budgets) + at], settings)
            for one, own in zip(drafts, choices, strict=True)
        ]
        sent = fmean(
            len(own[len(budgets) + at].selected) / len(one.answer.claims)
            for one, own in zip(drafts, choices, strict=True)
        )
        true = {rule: tuple(count[rule] for count in counts) for rule in counts[0]}
        found.append(Compared(budget, true, sent))
    return found


def _true_subjects(
    drawn: Drawn, kappa: float, reconciled: Selection, settings: MethodSettings
) -> dict[Rule, int]:
    """How many subjects are true by each rule, at as many claims as ``reconciled`` verifies."""
    answer = drawn.answer
    wanted = len(reconciled.selected)
    (selected,) = select_among(
        [candidates_of([answer])],
        budget_percent=100 * wanted / len(answer.claims),
        seed=settings.seed,
    )
    if len(selected) != wanted:
        raise AssertionError(f"{len(selected)} claims of the paper's beside {wanted}")
    kept = keep(answer.claims, selected, kappa)
    return {
        "paper": _count(drawn, kept, selected),
        "voted": _voted(drawn, kept, selected),
        "settled": _spoken(drawn, _choice(drawn, reconciled, selected)),
        "reconciled": _spoken(drawn, reconciled),
    }


def _choice(drawn: Drawn, like: Selection, selected: Sequence[int]) -> Selection:
    """Other claims, and the subjects that they belong to."""
    chosen = frozenset(selected)
    subjects = enumerate(drawn.answer.subjects)
    touched = tuple(at for at, one in subjects if chosen & set(one.claims))
    return like.model_copy(update={"selected": tuple(selected), "subjects": touched})


def _spoken(drawn: Drawn, choice: Selection) -> int:
    said = statements_of(drawn.answer, choice)
    kept = [item.claim for item in said if item.claim is not None]
    return _count(drawn, kept, choice.selected)


def _voted(drawn: Drawn, kept: Sequence[int], verified: Sequence[int]) -> int:
    """Claims that read alike after correction are one, and a correction carries its votes."""
    claims, taken = drawn.answer.claims, frozenset(verified)
    texts = [c.after if at in taken else c.text for at, c in enumerate(claims)]
    first = [texts.index(text) for text in texts]
    support = [[False] * len(claims) for _ in drawn.answer.closed_book]
    for at, claim in enumerate(claims):
        for sample, said in enumerate(claim.support):
            support[sample][first[at]] |= said
    speak: list[int] = []
    for subject in drawn.answer.subjects:
        facets = tuple(
            facet.model_copy(update={"claims": tuple(sorted({first[c] for c in facet.claims}))})
            for facet in subject.facets
        )
        merged = subject.model_copy(update={"facets": facets})
        speak += one_voice(merged, support, [first[c] for c in kept])
    return _count(drawn, speak, verified)


def _count(drawn: Drawn, kept: Sequence[int], verified: Sequence[int]) -> int:
    """Subjects of which something is kept and all that is kept is true, or was corrected."""
    right: dict[int, bool] = {}
    for claim in kept:
        decided = claim in verified and drawn.answer.claims[claim].boundary is True
        right[drawn.about[claim]] = right.get(drawn.about[claim], True) and (
            decided or drawn.true[claim]
        )
    return sum(right.values())


def _ends(name: str, found: Interval, n: int) -> Iterator[Figure]:
    yield name, found.mean, "subjects", n
    yield f"{name}_lower_95", found.lower, "subjects", n
    yield f"{name}_upper_95", found.upper, "subjects", n
