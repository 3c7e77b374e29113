"""When nobody is answered any more the provider is down: the run ends, not question by question."""

from __future__ import annotations

from simulrag.errors import ModelError, ModelUnreachable, ProviderDown

DOWN_AFTER = 3
"""Calls given up one after another, with no reply to anybody between, that mean 'down'."""


class Outage:
    """Tells one unlucky call from a provider that is down, for the calls of one gateway."""

    def __init__(self) -> None:
        self.answered = 0
        self._given_up = 0
        self._down = ""

    def check(self) -> None:
        """Raises ProviderDown once the provider is known to be down."""
        if self._down:
            raise ProviderDown(self._down)

    def was_answered(self) -> None:
        """Somebody was answered, be it by a refusal."""
        self.answered += 1
        self._given_up = 0

    def give_up(self, error: ModelError, answered_before: int) -> Exception:
        """What a call ends with that was never answered.

        ``answered_before``: ``answered`` as it was when the call began. Where others came through
        meanwhile it is this call and not the provider, so its own question fails.
        """
        if self.answered != answered_before:
            return error
        self._given_up += 1
        if isinstance(error, ModelUnreachable) or self._given_up >= DOWN_AFTER:
            self._down = self._down or (
                f"the model's provider is down, the run stops here: {error}. Everything paid for "
                "is kept; run the same command again when it is back"
            )
        return ProviderDown(self._down) if self._down else error
