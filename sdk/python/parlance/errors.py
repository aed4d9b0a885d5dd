"""The errors that this package raises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ApiError", "FieldError", "GatewayClosed", "ParlanceError", "RequestFailed"]


class ParlanceError(Exception):
    """The base of all errors of this package."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """A faulty field of a request. ``path`` is a JSON pointer such as ``/embeds/0/title``, or the name of a command option."""

    path: str
    message: str


class ApiError(ParlanceError):
    """
    The service refused a request. Tell errors apart by ``code``, never by the message.

    ``request`` is the method and the path with the names of its parameters, so that no token of a path reaches a log.
    """

    def __init__(
        self,
        request: str,
        status: int,
        *,
        code: str,
        message: str,
        fields: Sequence[FieldError] = (),
        missing: Sequence[str] = (),
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        self.request = request
        self.status = status
        self.code = code
        self.message = message
        self.fields = tuple(fields)
        """The faulty fields of the request."""
        self.missing = tuple(missing)
        """The names of the permissions that the caller lacks."""
        self.retry_after = retry_after
        """Seconds to wait before the next attempt, or None."""
        self.request_id = request_id
        """Name it when you report a problem; the logs of the service have it too."""
        # The message of an error with faulty fields only repeats them.
        faults = "; ".join(f"{field.path}: {field.message}" for field in self.fields)
        label = str(status) if code == f"http_{status}" else f"{status} {code}"
        super().__init__(f"{request}: {faults or message} ({label})")


class RequestFailed(ParlanceError):
    """A request got no answer: the service could not be reached, or did not answer in time, also when it was repeated."""


class GatewayClosed(ParlanceError):
    """The gateway closed the connection with a code after which another attempt cannot succeed."""

    def __init__(self, code: int, reason: str) -> None:
        self.code = code
        self.reason = reason
        super().__init__(f"the gateway closed the connection with {code}: {reason}")
