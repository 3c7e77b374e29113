"""Whether the calls of a provider cost money."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from simulrag.models.base import Provider


def costs_money(stated: bool | None, base_url: str | None) -> bool:
    """What params.yaml states; else a server elsewhere costs money, one of one's own does not.

    One's own: this machine, a private network, or a name without a dot. A server that is wrongly
    taken for paid asks for a budget; one wrongly taken for free would spend without one.
    """
    if stated is not None:
        return stated
    return base_url is None or not _is_own(urlsplit(base_url).hostname or "")


def is_paid(provider: Provider) -> bool:
    """Whether a provider says that its calls cost money (an optional attribute ``paid``)."""
    return bool(getattr(provider, "paid", False))


def reply_limit(provider: Provider) -> int | None:
    """The limit in tokens that a provider sends where none is set (optional)."""
    limit: int | None = getattr(provider, "max_output_tokens", None)
    return limit


def _is_own(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal"))
    return address.is_loopback or address.is_private or address.is_link_local
