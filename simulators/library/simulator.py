"""The library simulator: passages of a corpus for a query."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field

from simulators.base import (
    ArgumentError,
    Tool,
    ToolModel,
    code_files,
    compiled,
    engine_version,
    files_fingerprint,
    measured,
    render_handbook,
)
from simulators.library.corpus import Corpus, CorpusError, Stored
from simulators.library.index import Ranking, RankingName, open_ranking

HERE = Path(__file__).parent
TOOL = "query_rag"
MAX_QUERY = 2000
MAX_PASSAGES = 20
PASSAGES = 3
BUILDING = "builder"
"""The folder of what makes a corpus: its hash, not that code, decides what a query finds."""

RetrievesBy = Literal["question", "queries", "tools"]

_SHOWN_WORKS = 40
_TAG = re.compile(r"<(?=\s*/?\s*passage)", re.IGNORECASE)


class QueryArguments(ToolModel):
    """What to look for."""

    query: str = Field(
        min_length=1,
        max_length=MAX_QUERY,
        description="what to look for, in at most 2000 characters",
    )
    top_k: int = measured(
        "passages", "at most so many are returned", default=PASSAGES, ge=1, le=MAX_PASSAGES
    )


class Passage(ToolModel):
    """One passage, where it stands, and under which licence."""

    document: str
    locator: str
    title: str
    licence: str
    attribution: str
    date: str = ""
    score: float
    text: str

    @property
    def heading(self) -> str:
        """One line: title, place, who is to be credited, licence."""
        return quoted(
            f"{self.title} ({self.document}, {self.locator}{self.date and f', {self.date}'}). "
            f"{self.attribution}. "
            f"Licence: {self.licence}."
        )

    @property
    def quoted(self) -> str:
        """The text, which cannot end the tag that it is put into."""
        return quoted(self.text)


class QueryOutputs(ToolModel):
    """What was found."""

    passages: tuple[Passage, ...] = Field(
        description="passages, the best first, each with document, locator, title, licence, "
        "attribution, score and text"
    )

    def quoted(self, text: str) -> str:
        """Quote a third party's text, for the template."""
        return quoted(text)


def quoted(text: str) -> str:
    """Make a text's passage tags, if it has any, plain words."""
    return _TAG.sub(r"<\\", text)


class LibrarySimulator:
    """Passages of the corpus in the folder ``corpus`` (made by `simulrag library build`).

    ``ranking``: "bm25", by words; "dense", by sentence vectors; "fused", by both ranks.
    ``retrieves_by``: "tools", where a model calls the tool and sees what it found; "queries", where
    a model writes queries of three kinds; "question", where the question itself is the query (plain
    RAG). The last two show ``top_k`` passages a query. None of them changes the results of a query.
    Raises ArgumentError.
    """

    name = "library"
    oracle = False

    def __init__(
        self,
        corpus: str | Path,
        ranking: RankingName = "bm25",
        retrieves_by: RetrievesBy = "tools",
        top_k: int = PASSAGES,
    ) -> None:
        _known("ranking", ranking, get_args(RankingName))
        _known("retrieves_by", retrieves_by, get_args(RetrievesBy))
        if isinstance(top_k, bool) or top_k not in range(1, MAX_PASSAGES + 1):
            raise ArgumentError(f"top_k of the library is {top_k}: give 1 to {MAX_PASSAGES}")
        self.corpus = Corpus(Path(corpus))
        self.manifest = self.corpus.manifest
        if ranking != "bm25" and self.manifest.encoder is None:
            raise CorpusError(
                f"{corpus} has no vectors, which the ranking '{ranking}' needs: "
                "build it again with --dense"
            )
        self.ranking = ranking
        self._retrieves_by = retrieves_by
        self._top_k = top_k
        self._opened: Ranking | None = None
        self._lock = threading.Lock()
        self.tools: Mapping[str, Tool] = {
            TOOL: Tool(
                name=TOOL,
                description="Passages of the library that fit a query best, word for word.",
                arguments=QueryArguments,
                outputs=QueryOutputs,
                template=(HERE / "query_rag.j2").read_text(encoding="utf-8"),
            )
        }

    def handbook(self) -> str:
        """Describe what the library holds, by its manifest."""
        sources = self.manifest.sources
        prose = compiled((HERE / "handbook.md.j2").read_text(encoding="utf-8")).render(
            passages=self.manifest.passages,
            characters=self.manifest.chunk_characters,
            sources=sources[:_SHOWN_WORKS],
            more=len(sources[_SHOWN_WORKS:]),
            lexical=self.ranking == "bm25",
        )
        return render_handbook(re.sub(r"\n{3,}", "\n\n", prose), self.tools)

    def run(self, tool: str, arguments: ToolModel, seed: int) -> QueryOutputs:  # noqa: ARG002 nothing is random
        """Find the passages of a query. Raises ArgumentError, or CorpusChanged."""
        if tool != TOOL or not isinstance(arguments, QueryArguments):
            raise ArgumentError(f"library has one tool, '{TOOL}', not '{tool}'")
        ranking = self._open()
        self.corpus.check_unchanged()
        with self.corpus.reading():
            best = ranking.top(arguments.query, arguments.top_k)
            passages = [(self.corpus.passage(number), score) for number, score in best]
        return QueryOutputs(passages=tuple(_shown(stored, score) for stored, score in passages))

    def fingerprint(self) -> str:
        """Hash the texts, the code that ranks them and, with vectors, the encoder."""
        used = [self.manifest.sha256, self.ranking]
        if self.ranking != "dense":
            used += [self.manifest.lexical, engine_version("bm25s")]
        if self.ranking != "bm25" and self.manifest.encoder is not None:
            used += [self.manifest.encoder.name, self.manifest.encoder.sha256]
        return files_fingerprint(code_files(HERE, without=[BUILDING]), *used)

    @property
    def by_queries(self) -> bool:
        """Whether it is asked by queries that a model writes."""
        return self._retrieves_by == "queries"

    def consult(self, text: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Take the text as a query, where the settings say so."""
        if self._retrieves_by == "tools":
            return ()
        return ((TOOL, {"query": text[:MAX_QUERY], "top_k": self._top_k}),)

    def examples(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """Return queries for works that are there."""
        titles = [title for source in self.manifest.sources for title in source.titles]
        return {TOOL: [{"query": title} for title in titles[:2]]}

    def _open(self) -> Ranking:
        """Open the ranking once, after the corpus's files were checked."""
        with self._lock:
            if self._opened is None:
                self.corpus.open()
                with self.corpus.reading():
                    self._opened = open_ranking(
                        self.corpus.folder, self.ranking, self.manifest.encoder
                    )
            return self._opened


def _shown(stored: Stored, score: float) -> Passage:
    """Turn a stored passage into what a query finds."""
    part = "" if stored.parts == 1 else f", part {stored.part} of {stored.parts}"
    fields = stored.model_dump(exclude={"part", "parts"})
    return Passage(**fields | {"locator": f"{stored.locator}{part}", "score": score})


def _known(setting: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ArgumentError(f"'{value}' is not a {setting} of the library: {', '.join(known)}")
