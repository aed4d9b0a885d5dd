"""The events of the client itself: what happens to its session and its connection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .generated.models import Author

__all__ = ["Disconnected", "EventsMissed", "Ready", "Resumed", "Session"]


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


@dataclass(frozen=True, slots=True)
class Resumed:
    """The session was continued after an interruption. No event is missing."""

    replayed: int
    """How many events had been missed. They came before this one."""


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection was lost, or could not be opened. The client connects again by itself."""

    code: int
    """The close code, or 1006 if there is none."""
    reason: str


@dataclass(frozen=True, slots=True)
class EventsMissed:
    """The session could not be continued, so events may be missing. A new one follows: load again what you need."""

    reason: str


@dataclass(frozen=True, slots=True)
class Session:
    """
    A session of the gateway, with the position up to which all events are handled. Its fields are text: save it with ``json.dumps(dataclasses.asdict(session))``,
    and pass ``Session(**json.loads(text))`` to the client of the next process.
    """

    id: str = field(repr=False)
    url: str
    """The address to resume at."""
    position: str
