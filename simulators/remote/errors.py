"""What can go wrong with a service that is somebody else's."""

from __future__ import annotations

from simulators.base import RunError


class ServiceDied(RunError):  # noqa: N818 it says what happened, as the others do
    """The service ended, or could not be reached."""


class ServiceTimeout(RunError):  # noqa: N818
    """The service did not answer in time."""


class ReplyTooLarge(RunError):  # noqa: N818
    """The service answered with more than the limit."""


class ServiceReplyInvalid(RunError):  # noqa: N818
    """The service answered with something that its own schema, or JSON, does not allow."""


class ToolsChanged(RunError):  # noqa: N818
    """The service's tools are not those that the fingerprint was made of."""
