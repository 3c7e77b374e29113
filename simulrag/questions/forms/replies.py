"""Replies to both prompts that write questions by form: from documents, and from runs."""

from __future__ import annotations

from simulrag.models.replies import Reply, Text


class WrittenFreeform(Reply):
    """Reply to ``forms_write`` and ``forms_run``: a question and its answer."""

    question: Text
    answer: Text


class WrittenStatement(Reply):
    """Reply to ``forms_write`` and ``forms_run``: the statement of a cloze."""

    statement: Text
