"""Sends requests to the HTTP API: rate limits, retries, idempotency keys, timeouts and errors."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import aiohttp
from yarl import URL

from .buckets import Buckets
from .codec import UNSET, encode
from .errors import ApiError, FieldError, RequestFailed
from .files import File
from .version import VERSION

__all__ = ["Http", "Request"]

log = logging.getLogger("parlance")

TIME_LIMIT_SECS = 60.0
"""No attempt begins later than this after the first one, and nothing waits longer for a rate limit."""
TEMPORARY = (500, 502, 503, 504)
KNOWN_WARNINGS = 1000


@dataclass(frozen=True, slots=True)
class Request:
    """One request. ``path`` has its parameters in braces; ``params`` are their values, in order."""

    method: str
    path: str
    params: Sequence[str] = ()
    query: Mapping[str, object] = field(default_factory=dict)
    """Parameters that are None are left out."""
    body: object = None
    """The body as JSON. Of a mapping, fields that are None or UNSET are left out."""
    nullable: Mapping[str, object] = field(default_factory=dict)
    """More fields of the body. They are left out if they are UNSET, and null if they are None."""
    files: Sequence[File] | None = None
    image: bytes | None = None
    """An image as the whole body."""
    creates: bool = False
    """The request creates something, so it gets an Idempotency-Key and can be repeated."""
    idempotency_key: str | None = None
    needs_token: bool = True

    @property
    def name(self) -> str:
        """What logs and errors call the request: without parameters, because tokens are among them."""
        return f"{self.method} {self.path}"


class Http:
    """The connections to one service, with the token of one bot."""

    def __init__(self, url: str, token: str | None, *, timeout: float, max_retries: int, on_warning: Callable[[str], None]) -> None:
        self.url = url.rstrip("/")
        self.token = token.removeprefix("Bot ") if token else None
        self._timeout = timeout
        self._max_retries = max_retries
        self._on_warning = on_warning
        self._buckets = Buckets()
        self._warnings: set[str] = set()
        self._session: aiohttp.ClientSession | None = None

    @property
    def session(self) -> aiohttp.ClientSession:
        """The connections. Use it in a running event loop only."""
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(headers={"User-Agent": f"parlance-python/{VERSION}"})
        return self._session

    async def close(self) -> None:
        """Closes all connections."""
        if self._session is not None:
            await self._session.close()

    async def send(self, request: Request, *, max_retries: int | None = None) -> Any:
        """
        Sends a request, repeats it if that is safe, and returns the parsed answer. Raises ApiError or RequestFailed. After a rate limit, and while an earlier
        attempt with the same key still runs, it is repeated more often than ``max_retries``.
        """
        attempts = 1 + (self._max_retries if max_retries is None else max_retries)
        headers, body = self._write_body(request)
        can_repeat = request.method != "POST" or request.creates
        owner = request.params[0] if request.params else ""
        deadline = time.monotonic() + TIME_LIMIT_SECS
        attempt, may_be_done = 0, False
        while True:
            attempt += 1
            await self._buckets.wait(request.name, owner)
            delay = random.uniform(0, min(8.0, 0.5 * 2**attempt))
            try:
                status, answer_headers, answer = await self._send_once(request, headers, body)
            except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
                was_sent = not isinstance(error, aiohttp.ClientConnectorError)
                if attempt >= attempts or time.monotonic() + delay > deadline or (was_sent and not can_repeat):
                    raise RequestFailed(f"{request.name}: {error or 'no answer in time'}") from error
                may_be_done = may_be_done or was_sent
            else:
                self._buckets.update(request.name, owner, answer_headers)
                self._report_warnings(request, answer_headers)
                if status < 400:
                    return answer
                refusal = self._to_error(request, status, answer_headers, answer)
                if status == 404 and request.method == "DELETE" and may_be_done:
                    return None  # an earlier attempt, whose answer was lost, has deleted it
                is_running = refusal.code == "idempotency_conflict" and attempt > 1
                is_limited = refusal.code == "rate_limited"
                is_repeated = attempt < attempts and status in TEMPORARY and can_repeat
                if is_limited:
                    delay = refusal.retry_after or delay
                elif refusal.retry_after is not None:
                    delay = max(delay, refusal.retry_after)
                if not (is_running or is_limited or is_repeated) or time.monotonic() + delay > deadline:
                    raise refusal
                may_be_done = may_be_done or status in TEMPORARY
                log.debug("%s: %s %s; trying again in %.2f s", request.name, status, refusal.code, delay)
            await asyncio.sleep(delay)

    def _write_body(self, request: Request) -> tuple[dict[str, str], bytes | None]:
        """The headers and the JSON of a request; they are the same in each attempt, as the idempotency key asks for."""
        headers: dict[str, str] = {}
        if request.needs_token:
            if not self.token:
                raise ValueError("this request needs a token: pass it to the client, or set PARLANCE_TOKEN")
            headers["Authorization"] = f"Bot {self.token}"
        if request.creates:
            headers["Idempotency-Key"] = request.idempotency_key or secrets.token_hex(16)
        if request.image is not None:
            return headers | {"Content-Type": to_image_type(request.image)}, request.image
        body = request.body
        if isinstance(body, Mapping):
            body = {name: value for name, value in body.items() if value is not None and value is not UNSET}
            body |= {name: value for name, value in request.nullable.items() if value is not UNSET}
        if body is None:
            return headers, None
        data = json.dumps(encode(body), ensure_ascii=False).encode()
        return headers if request.files else headers | {"Content-Type": "application/json"}, data

    async def _send_once(self, request: Request, headers: Mapping[str, str], body: bytes | None) -> tuple[int, Mapping[str, str], Any]:
        values = iter(request.params)
        path = "/".join(to_path_segment(part, next(values)) if part.startswith("{") else part for part in request.path.split("/"))
        query = {name: to_query_value(value) for name, value in request.query.items() if value is not None}
        url = URL(self.url + path, encoded=True).update_query(query)
        data: object = body
        if request.files:
            form = aiohttp.FormData()
            form.add_field("payload_json", body or b"{}", content_type="application/json")
            for file in request.files:
                form.add_field("files", file.data, filename=file.name, content_type=file.media_type)
            data = form
        # Large uploads take their time on slow lines.
        seconds = self._timeout + sum(len(file.data) for file in request.files or ()) / 100_000
        timeout = aiohttp.ClientTimeout(total=seconds)
        async with self.session.request(
            request.method, url, headers=headers, data=data, timeout=timeout, allow_redirects=False
        ) as response:
            content = await response.read()
            try:
                answer = json.loads(content) if content else None
            except ValueError:
                answer = content  # a page of a proxy, or a file
            return response.status, response.headers, answer

    def _report_warnings(self, request: Request, headers: Mapping[str, str]) -> None:
        """Reports a warning of the service once, for example about unknown fields."""
        text = headers.get("Warnings")
        if text and text not in self._warnings and len(self._warnings) < KNOWN_WARNINGS:
            self._warnings.add(text)
            self._on_warning(f"{request.name}: {text}")

    @staticmethod
    def _to_error(request: Request, status: int, headers: Mapping[str, str], answer: Any) -> ApiError:
        body: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
        retry_after = body.get("retryAfter", headers.get("Retry-After"))
        try:
            retry_after = None if retry_after is None else float(retry_after)
        except ValueError:  # a date, from a proxy
            retry_after = None
        return ApiError(
            request.name,
            status,
            code=body.get("code") or f"http_{status}",
            message=body.get("message") or "the answer is not one of Parlance",
            fields=[FieldError(str(one.get("path", "")), str(one.get("message", ""))) for one in body.get("errors") or ()],
            missing=body.get("missing") or (),
            retry_after=retry_after,
            request_id=body.get("requestId") or headers.get("X-Request-Id"),
        )


def to_path_segment(name: str, value: str) -> str:
    """A parameter of a path. Values that would lead to another path, such as ``..``, are refused."""
    if value in ("", ".", ".."):
        raise ValueError(f"{name.strip('{}')} must not be {value!r}")
    return quote(value, safe="")


def to_query_value(value: object) -> str:
    """A query parameter as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def to_image_type(data: bytes) -> str:
    """The media type of an image, by its first bytes."""
    for start, media_type in ((b"\x89PNG", "image/png"), (b"\xff\xd8", "image/jpeg"), (b"GIF8", "image/gif")):
        if data.startswith(start):
            return media_type
    return "image/webp"
