"""The events of the client itself: what happens to its session and its connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields

from .generated.models import Author

__all__ = ["Disconnected", "EventsMissed", "Ready", "Resumed", "Session", "to_session"]


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
    """The connection was lost, or could not be opened. It comes once; the client connects again by itself, until ``ready`` or ``resumed`` comes."""

    code: int
    """The close code, or 1006 if there is none."""
    reason: str


@dataclass(frozen=True, slots=True)
class EventsMissed:
    """
    Events are missing: the session could not be continued, and a new one follows; or the listeners of a channel are too slow, and events of this channel were
    skipped. Load again what you need.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Session:
    """
    A session of the gateway, with the position up to which all events are handled. Save it with ``json.dumps(dataclasses.asdict(session))``, and pass
    ``json.loads(text)`` as ``resume_from`` to the client of the next process.
    """

    id: str = field(repr=False)
    url: str
    """The address to resume at."""
    position: str


def to_session(saved: object) -> Session | None:
    """The session that a program has saved, as an object or as parsed JSON. None if it is damaged."""
    values = asdict(saved) if isinstance(saved, Session) else saved
    names = [one.name for one in fields(Session)]
    if isinstance(values, Mapping) and all(isinstance(values.get(name), str) and values[name] for name in names):
        return Session(**{name: values[name] for name in names})
    return None
