"""English prose taken apart: sentences, and the clauses that can stand by themselves."""

from __future__ import annotations

import re

_ABBREVIATIONS = ("e.g", "i.e", "approx", "ca", "vs", "dr", "mr", "st", "no", "fig", "cf", "etc")
_BOUNDARY = re.compile(r"(?<=[.!?;])[\"'’”)]*\s+(?=[\"'‘“(]?[A-ZÀ-Þ0-9])")

FINITE = (
    r"(?:is|are|was|were|be|been|has|have|had|does|do|did|will|would|shall|should|may|might|can|"
    r"could|must|cannot|won't|isn't|doesn't|falls?|fell|rises?|rose|drops?|dropped|grows?|grew|"
    r"changes|increases?|increased|decreases?|decreased|declines?|declined|climbs?|climbed|shrinks?|"
    r"reduces?|reduced|lowers?|raises?|cuts?|improves?|improved|worsens?|worsened|experiences?|"
    r"remains?|stays?|reaches|reached|peaks?|peaked|amounts?|stands?|results?|leads?|led|shows?|"
    r"indicates?|suggests?|represents?|achieves?|delivers?|demonstrates?|presents?|yields?|"
    r"produces?|creates?|causes?|signifies|exceeds?|means|counts?|qualifies|constitutes?|comes?|"
    r"occurs?|arrives?|begins?|starts?|commences?|warms?|cools?|gets?|becomes?|makes?|brings?|"
    r"supports?|prioriti[sz]es|enhances?|balances?|offers?|provides?|contributes?|points?|tends?|"
    r"looks?|seems?|appears?|expects?|estimate|expect|believe|gains?|loses?|saves?|adds?|"
    r"warrants?|doubles?|halves|continues?|ends?|runs?|totals?|averages?|equals?|differs?)"
)
_VERB = re.compile(rf"(?<![-'’\w]){FINITE}(?![-\w])", re.IGNORECASE)
# Verbs that are as often nouns or adjectives: their base form is a verb behind a plural alone, and
# any form is a noun behind an article, a number or a measure.
_NOUN_BEFORE = re.compile(
    r"(?:\b(?:the|a|an|this|that|its|their|of|in|any|no|such|each|percent|percentage|projected|"
    r"resulting|overall|total|net|median|average|initial|season's|outbreak's|temperature|\d+|"
    r"\w+al|\w+ed|\w+est)|%)\s*[\"']?$",
    re.IGNORECASE,
)
BASE_FORMS = frozenset(
    {
        "increase",
        "decrease",
        "decline",
        "drop",
        "rise",
        "fall",
        "fell",
        "peak",
        "change",
        "cut",
        "gain",
        "cost",
        "balance",
        "start",
        "result",
        "mean",
        "estimate",
        "point",
        "show",
        "total",
        "average",
        "end",
        "run",
        "look",
        "grow",
        "add",
        "support",
        "lower",
        "reduce",
        "equal",
        "warm",
        "cool",
        "raise",
        "make",
        "lead",
        "cause",
    }
)
_NOUN_FORMS = BASE_FORMS | frozenset(word + "s" for word in BASE_FORMS)

_UNLISTED = re.compile(
    r"(?<=[a-z\d] )(?!(?:as|is|was|has|its|this|across|versus|less|plus|thus|towards|always|"
    r"perhaps|besides|unless|whereas|\w+ings|\w+ions|\w+ities)\b)[a-z]{3,}s"
    r"(?= (?:the|a|an|its|their|average|total|overall)\b)"
)
_TAIL = re.compile(
    r",\s+(?:and\s+|thus\s+|thereby\s+|therefore\s+|clearly\s+)?"
    r"(?=(?:which\b|indicating|suggesting|placing|representing|showing|signifying|falling|"
    r"demonstrating|exceeding|marking|resulting|making|achieving|reaching|exhibiting|meaning|"
    r"reflecting|constituting|putting|highlighting|leading|delivering|peaking|"
    rf"{FINITE})\b)",
    re.IGNORECASE,
)
_COORDINATION = re.compile(
    r"(?:;\s+|,?\s+(?:while|whereas|although|though)\s+|,\s+(?:but|yet|so|with|as)\s+|"
    r",\s+and\s+|\s+and\s+|,\s+(?=but\b))",
    re.IGNORECASE,
)


def plain(text: str) -> str:
    """The text without Markdown marks, list bullets and doubled white space."""
    text = re.sub(r"[*`]+", "", text.replace("\u2212", "-").replace("\u00a0", " "))
    lines = [re.sub(r"^\s*(?:[-•]|#+)\s+", "", line).strip() for line in text.splitlines()]
    closed = [line if not line or line[-1] in ".!?;:," else line + "." for line in lines]
    return re.sub(r"\s+", " ", " ".join(closed)).strip()


def sentences(text: str) -> list[str]:
    """The sentences in order. Decimal points, initials and abbreviations end none."""
    parts: list[str] = []
    for piece in _BOUNDARY.split(plain(text)):
        last = parts[-1].rsplit(" ", 1)[-1].rstrip(".").lower() if parts else ""
        if parts and parts[-1].endswith(".") and (last in _ABBREVIATIONS or len(last) == 1):
            parts[-1] += " " + piece
        elif piece.strip():
            parts.append(piece.strip())
    return parts


def finite_verb(text: str, start: int = 0) -> re.Match[str] | None:
    """The first finite verb at or after ``start``; words used as nouns are passed over."""
    for match in _VERB.finditer(text, start):
        word = match.group().lower()
        before = text[: match.start()].rstrip()
        if not before:
            continue
        if word in _NOUN_FORMS and _NOUN_BEFORE.search(before):
            continue
        if word in BASE_FORMS and not _plural_before(before, text[match.end() :]):
            continue
        if word.endswith("ed") and re.search(r"\b(?:the|a|an|with|of|in|and|,)$", before, re.I):
            continue
        return _earlier_verb(text, start, match)
    return _earlier_verb(text, start, None)


def _plural_before(before: str, behind: str) -> bool:
    """Whether a base form has a plural (or "I", "they") as its subject."""
    if re.search(r"(?:s|\b(?:i|we|you|they|it))$", before, re.IGNORECASE):
        return True
    far = re.search(r"\b\w+s (?:of|in|from) [^,]*$", before)
    return far is not None and re.match(r" (?:by|from|slightly|sharply)\b", behind) is not None


def _earlier_verb(text: str, start: int, known: re.Match[str] | None) -> re.Match[str] | None:
    """A verb that the list lacks, where a word in -s stands right before a noun phrase."""
    other = _UNLISTED.search(text, max(start, 1))
    if other and (known is None or other.start() < known.start()):
        return other
    return known


def starts_with_verb(text: str) -> bool:
    """Whether a clause without a subject begins here, an adverb before its verb allowed."""
    match = re.match(rf"(?:\w+ly\s+)?({FINITE})\b", text, re.IGNORECASE)
    if match is None:
        return False
    word = match.group(1).lower()
    return word not in BASE_FORMS and not word.endswith("ed")


def subject_of(sentence: str) -> str:
    """What stands before the first finite verb, without introductory phrases; "" if nothing."""
    verb = finite_verb(sentence)
    if verb is None:
        return ""
    head = sentence[: verb.start()].strip()
    if ", " in head:
        head = _after_introduction(head)
    return head.strip(" ,")


def _after_introduction(head: str) -> str:
    pieces = re.split(r",\s+(?![^()\[\]]*[)\]])", head)
    introductory = re.compile(
        r"^(?:overall|however|furthermore|moreover|additionally|in addition|conversely|therefore|"
        r"simultaneously|meanwhile|consequently|crucially|critically|as a result|thus|also|"
        r"instead|finally|first|second|then|by contrast|notably|despite|given|under|with|for|"
        r"based|following|in|at|after|on|considering|compared|although|while|by)\b",
        re.IGNORECASE,
    )
    while len(pieces) > 1 and introductory.match(pieces[0]):
        pieces = pieces[1:]
    return ", ".join(pieces)


def tails(sentence: str) -> tuple[str, list[str]]:
    """The sentence cut before its trailing relative and participle clauses, and these clauses."""
    verb = finite_verb(sentence)
    if verb is None:
        return sentence, []
    cuts = [m for m in _TAIL.finditer(sentence, verb.end()) if _is_tail(sentence, m)]
    if not cuts:
        return sentence, []
    ends = [*[m.start() for m in cuts[1:]], len(sentence)]
    found = [sentence[m.end() : end].strip(" ,.") for m, end in zip(cuts, ends, strict=True)]
    return sentence[: cuts[0].start()].strip(" ,.") + ".", [t for t in found if t]


def coordinated(sentence: str) -> list[tuple[str, str]]:
    """(conjunction, clause) of a sentence, split only after its first finite verb."""
    verb = finite_verb(sentence)
    if verb is None:
        return [("", sentence)]
    parts: list[tuple[str, str]] = []
    start, word = 0, ""
    for match in _COORDINATION.finditer(sentence, verb.end()):
        if _inside(sentence, match.start()) or _hangs(sentence[start : match.start()]):
            continue
        parts.append((word, sentence[start : match.start()].strip(" ,")))
        start, word = match.end(), match.group().strip(" ,").lower()
    parts.append((word, sentence[start:].strip(" ,")))
    return parts


def _is_tail(sentence: str, match: re.Match[str]) -> bool:
    """Whether a trailing clause begins here, not a noun of a list nor the end of a that-clause."""
    behind = sentence[match.end() :]
    opens = re.match(r"which\b|[a-z]+ing\b", behind, re.IGNORECASE) or starts_with_verb(behind)
    before = sentence[: match.start()]
    return bool(opens) and not _inside(sentence, match.start()) and not _hangs(before)


def _hangs(before: str) -> bool:
    """Whether a that-clause has begun and has no verb yet."""
    said = re.search(r".*\bthat\b", before, re.IGNORECASE)
    return said is not None and finite_verb(before[said.end() :]) is None


def _inside(text: str, position: int) -> bool:
    before = text[:position]
    return before.count("(") + before.count("[") > before.count(")") + before.count("]")
