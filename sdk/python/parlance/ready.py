"""The event that begins a session with the gateway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .generated.models import Author

__all__ = ["Ready"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """
    A session has begun. It comes after the start, and again when a session could not be resumed. Load again then what you keep of the service, with
    ``bot.api.get_sync()``: events may be missing.
    """

    user: Author
    """The account of the bot."""
    application_id: str
    servers: Sequence[str]
    """The ids of the servers that the bot is in."""
    session_id: str = field(repr=False)
