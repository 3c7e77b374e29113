"""What a reader chooses between: price and quality of each way to write an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from flows.report.blocks import (
    DASH,
    Block,
    ReportSection,
    Table,
    best,
    count,
    interval,
    number,
    why,
)
from flows.report.recipes import (
    QUALITY,
    VariantSummary,
    axes,
    measured_recipes,
    pooled,
    price,
    quality,
    to_choose_from,
)
from flows.report.run import DomainTable, ReportedRun
from flows.report.words import method_name
from simulrag.metrics.methods import OURS, SIMULRAG
from simulrag.metrics.table import ESTIMATED, Measurement
from simulrag.records import STANDINGS

PRINCIPAL = ("checked", "corrected", "added")
"""Standings that a simulator run stands behind."""
_MARKS = {
    "checked": "runs hold it",
    "corrected": "by runs",
    "added": "the question asks for it, the text lacked it, runs give it",
    "judgement": "no run decides what is good",
    "beyond": "no run could",
    "not_run": "a run could decide it, none was made",
    "wrong": "by runs, and not mended",
}
_LABELS = ("true", "false", "undecided", "unlabelled")
_QUALITY_COLUMNS = {
    "True claims": "informativeness",
    "Share true": "factuality",
    "Asked": "completeness",
}
"""The columns whose best is set off, with their metric."""


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Show the pictures of each domain, the numbers, and what a reader can rely on.

    Questions of the published benchmark stand folded behind them.
    """
    own, published = _answered(run)
    found = {domain.name: measured_recipes(run, domain) for domain in own}
    calls, runs, share, true_claims = axes(
        [recipe for recipes in found.values() for recipe in recipes]
    )
    for domain in own:
        yield quality(domain, to_choose_from(found[domain.name]), share, true_claims)
    for domain in own:
        yield price(domain, found[domain.name], calls, share)
    for domain in own:  # elsewhere every recipe with evidence has the same runs, or nearly so
        if any(recipe.method == "rag_looks" for recipe in found[domain.name]):
            yield price(domain, found[domain.name], runs, share, "runs")
    if own:
        yield recipe_table(run, own, "recipes", "price and quality", every=False)
    marked = [domain for domain in own if domain.rows("standings")]
    if marked:
        yield _reliable(marked)
    together = pooled([measured_recipes(run, domain) for domain in published])
    if len(published) > 1 and together:
        yield _together(together, "Published questions: oracle retrieval")


def meaning(run: ReportedRun) -> Iterator[str]:
    """Tell what each way is worth, what it costs at least, and what a reader can rely on."""
    own, published = _answered(run)
    found = [(domain, to_choose_from(measured_recipes(run, domain))) for domain in own]
    one_look = [each for each in found if not _looks(each[1])]
    several = [each for each in found if _looks(each[1])]
    names = _listed([domain.name for domain, _ in several])
    true = (
        *_true(one_look, "Of the claims that can be decided these are true"),
        *_true(several, f"Where the answer takes several looks ({names})"),
    )
    if true:
        yield " ".join(true)
    cheapest: dict[str, list[str]] = {}
    for domain, recipes in found:
        if least := _cheapest(recipes):
            calls = number(least.value("calls"), 0)
            cheapest.setdefault(f"{least.name} ({calls} calls)", []).append(domain.name)
    if cheapest:
        ways = (f"{way} in {_listed(domains)}" for way, domains in cheapest.items())
        yield f"The cheapest way that may be as good as the best: {'; '.join(ways)}."
    yield from _relied_on(own, published)


def _looks(recipes: Sequence[VariantSummary]) -> bool:
    return any(recipe.method == "rag_looks" for recipe in recipes)


def _answered(run: ReportedRun) -> tuple[list[DomainTable], list[DomainTable]]:
    own, published = run.own_and_published
    return [d for d in own if d.rows("answers")], [d for d in published if d.rows("answers")]


def reliable_words(domain: DomainTable) -> Iterator[str]:
    """Say how much of what the answer says is true, by standing."""
    found = _standings(domain)
    if not found:
        return
    said = []
    for standing, by_metric in found.items():
        true, decided = by_metric["true"].value or 0, by_metric["true_share"].n or 0
        if decided:
            said.append(f"{standing} {true:.0f} of {decided}")
    if said:
        yield f"true statements by mark: {', '.join(said)}"


def samples_words(recipes: Sequence[VariantSummary], before: str = "") -> str:
    """Say how many answers the published method samples; "" where it does not stand there."""
    sampled = [recipe.line.samples for recipe in recipes if recipe.method == SIMULRAG]
    if not sampled:
        return ""
    return (
        f"{before}m (sampled answers) of the paper's is {max(sampled)}, of the others 1, where "
        "nothing is said."
    )


def evidence_words(domain: DomainTable) -> str:
    """Say how many answers had nothing to verify with; "" where there was for all."""
    questions, there = domain.count("completed"), domain.count("with_evidence")
    if there >= questions:
        return ""
    return f"for {questions - there} of {questions} answers no evidence was there to verify with"


def _standings(domain: DomainTable) -> dict[str, dict[str, Measurement]]:
    """Sort a domain's standings by mark and metric."""
    rows = domain.rows("standings")
    there = {row.level for row in rows}
    return {
        standing: {row.metric: row for row in rows if row.level == standing}
        for standing in STANDINGS
        if standing in there
    }


def recipe_table(
    run: ReportedRun, domains: Sequence[DomainTable], name: str, caption: str, *, every: bool
) -> Table:
    """Tabulate price and quality, a row a recipe: those to choose from, or every one.

    ``every``: with the intervals that the first table has no room for.
    """
    shown = [
        (domain, recipe)
        for domain in domains
        for recipe in _shown(measured_recipes(run, domain), every)
    ]
    columns = _recipe_columns(every)
    return Table(
        name=name,
        caption=caption[:1].upper() + caption[1:],
        columns=("Domain", "Recipe", *columns),
        rows=tuple(
            (domain.name, recipe.name, *(cell(recipe) for cell in columns.values()))
            for domain, recipe in shown
        ),
        headers=2,
        strong=tuple(at for at, (_, recipe) in enumerate(shown) if recipe.method in OURS),
        best=tuple(_best(shown, ["Domain", "Recipe", *columns])),
        notes=tuple(_recipe_notes(shown, domains, every)),
    )


def _shown(recipes: Sequence[VariantSummary], every: bool) -> Sequence[VariantSummary]:
    return recipes if every else to_choose_from(recipes)


def _recipe_columns(every: bool) -> Mapping[str, Callable[[VariantSummary], str]]:
    """Return what writes the cell of a recipe, by the column's title."""

    def shown(metric: str, places: int) -> Callable[[VariantSummary], str]:
        return lambda recipe: interval(recipe.found.get(metric), places=places)

    def plain(metric: str, places: int) -> Callable[[VariantSummary], str]:
        return lambda recipe: number(recipe.value(metric), places)

    roomy = shown if every else plain
    return {
        "Calls": plain("calls", 0),
        "Tokens": _tokens,
        **({"In turn": plain("chain", 0)} if every else {}),
        "Runs": plain("simulator_runs", 1),
        "True claims": shown("informativeness", 1),
        "Share true": shown("factuality", 2),
        "Undecided": roomy("undecided_claims", 1),
        "Asked": shown("completeness", 2),
        "Words": roomy("words", 1),
    }


def _recipe_notes(
    shown: Sequence[tuple[DomainTable, VariantSummary]], domains: Sequence[DomainTable], every: bool
) -> Iterator[str]:
    """Say what the columns mean, which answers had no evidence, and why a value is undefined."""
    recipes = [recipe for _, recipe in shown]
    yield (
        "A question each, of the recipe by itself. Tokens: in and out, thousands. "
        + ("In turn: calls that wait for one another. " if every else "")
        + "Runs: of the simulator, that the text rests on. Share true: "
        "true claims by true and false ones. Undecided: claims that the reference says nothing of. "
        "Asked: the share of what a generated question asks for that a true claim states. Bold: "
        "the best of a domain, and what may be as good: its interval holds that value."
        + samples_words(recipes, " ")
    )
    yield from (
        f"{domain.title}: {words}." for domain in domains if (words := evidence_words(domain))
    )
    if any(map(_estimated, recipes)):
        yield "~: tokens estimated, the characters of stored messages and replies by 4."
    measured = [
        recipe.found[name] for recipe in recipes for name in QUALITY if name in recipe.found
    ]
    yield from why(
        [row for row in measured if row.value is None],
        lambda row: f"{method_name(row.method)} in {row.domain}",
    )


def _best(
    shown: Sequence[tuple[DomainTable, VariantSummary]], columns: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Find in each domain the best of each column of quality, with what may be as good."""
    for name in dict.fromkeys(domain.name for domain, _ in shown):
        rows = [at for at, (domain, _) in enumerate(shown) if domain.name == name]
        for title, metric in _QUALITY_COLUMNS.items():
            leading = best([shown[at][1].found.get(metric) for at in rows])
            yield from ((rows[at], columns.index(title)) for at in sorted(leading))


def _estimated(recipe: VariantSummary) -> bool:
    return recipe.value("input_tokens") is None


def _tokens(recipe: VariantSummary) -> str:
    """Write tokens in and out, in thousands; estimated where nobody counted them."""
    mark, end = ("~", ESTIMATED) if _estimated(recipe) else ("", "")
    tokens = [recipe.value(f"{name}{end}") for name in ("input_tokens", "output_tokens")]
    known = [f"{count / 1000:.1f}" for count in tokens if count is not None]
    return f"{mark}{' + '.join(known)}" if len(known) == len(tokens) else DASH


def _together(recipes: Sequence[VariantSummary], fold: str) -> Table:
    columns = ("Recipe", "Calls", "True claims", "Share true", "Undecided", "Words")
    return Table(
        name="recipes-published-pooled",
        caption="The published benchmark's questions of all domains together",
        columns=(*columns, "Questions"),
        rows=tuple(
            (
                recipe.name,
                number(recipe.value("calls"), 0),
                number(recipe.value("informativeness"), 1),
                number(recipe.value("factuality"), 2),
                number(recipe.value("undecided_claims"), 1),
                number(recipe.value("words"), 0),
                count(recipe.questions),
            )
            for recipe in recipes
        ),
        headers=1,
        fold=fold,
    )


def _reliable(domains: Sequence[DomainTable]) -> Table:
    rows, there = [], set()
    for domain in domains:
        for standing, by_metric in _standings(domain).items():
            there.add(standing)
            share = by_metric["true_share"]
            counts = [by_metric[name].value or 0 for name in ("true", "false", "undecided")]
            other = by_metric["unlabelled"].value or 0
            rows.append(
                (
                    *(domain.name, standing),
                    *(f"{amount:.0f}" for amount in (*counts, other)),
                    interval(share, places=2),
                )
            )
    return Table(
        name="standings",
        caption="What a reader can rely on: statements of the answer by their mark",
        columns=("Domain", "Mark", "True", "False", "Undecided", "Without a label", "Share true"),
        rows=tuple(rows),
        headers=2,
        strong=tuple(at for at, row in enumerate(rows) if row[1] in PRINCIPAL),
        notes=(
            "; ".join(f"{mark}: {means}" for mark, means in _MARKS.items() if mark in there)
            + ". The label is that of the statement by itself, or of its correction.",
        ),
    )


def _true(
    found: Sequence[tuple[DomainTable, Sequence[VariantSummary]]], begun: str
) -> Iterator[str]:
    """Tell the share of true claims of each method, at its largest m and budget."""
    shares: dict[str, list[float]] = {}
    largest = ({recipe.method: recipe for recipe in recipes} for _, recipes in found)
    for recipe in (recipe for by_method in largest for recipe in by_method.values()):
        if (share := recipe.value("factuality")) is not None:
            shares.setdefault(recipe.name, []).append(share)
    if shares:
        yield f"{begun}: {'; '.join(f'{way}, {_range(each)}' for way, each in shares.items())}."


def _relied_on(own: Sequence[DomainTable], published: Sequence[DomainTable]) -> Iterator[str]:
    """Tell how many marked statements are true, and how many nobody can decide here."""
    told = []
    for mark in PRINCIPAL:
        true, decided, total = _marked(own, mark)
        if total:
            told.append(
                f"{decided} of {total} {mark} ({true} true)"
                if decided
                else f"none of {total} {mark}"
            )
    if not told:
        return
    true, decided, _ = map(sum, zip(*(_marked(published, mark) for mark in PRINCIPAL), strict=True))
    beside = f"; on the published questions {decided} ({true} true)" if decided else ""
    yield (
        f"Of the statements that a run stands behind the reference decides {_listed(told)}{beside}"
        ". RAG marks nothing: its reader trusts all or none."
    )


def _marked(domains: Sequence[DomainTable], mark: str) -> tuple[int, int, int]:
    """Count the statements of a mark: the true ones, those that are decided, and all."""
    found = [by[mark] for domain in domains if mark in (by := _standings(domain))]
    true = sum(by["true"].value or 0 for by in found)
    decided = sum(by["true_share"].n or 0 for by in found)
    total = sum(by[name].value or 0 for by in found for name in _LABELS)
    return round(true), decided, round(total)


def _listed(names: Sequence[str]) -> str:
    """Write ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _cheapest(recipes: Sequence[VariantSummary]) -> VariantSummary | None:
    """Return the one of fewest calls that may be the best in share true and in true claims."""
    good = set(range(len(recipes)))
    for metric in ("factuality", "informativeness"):
        good &= best([recipe.found.get(metric) for recipe in recipes])
    priced = [(calls, at) for at in good if (calls := recipes[at].value("calls")) is not None]
    return recipes[min(priced)[1]] if priced else None


def _range(shares: Sequence[float]) -> str:
    low, high = (round(100 * end) for end in (min(shares), max(shares)))
    return f"{high} %" if low == high else f"{low} to {high} %"


SECTION = ReportSection("ways", "What each way to answer costs and is worth", blocks)
