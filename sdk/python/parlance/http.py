"""Sends requests to the HTTP API: rate limits, retries, idempotency keys, timeouts and errors."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from math import inf, isfinite
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp
from yarl import URL

from .buckets import Buckets
from .codec import UNSET, encode
from .errors import ApiError, FieldError, ParlanceError, RequestFailed
from .files import File
from .order import Turns
from .version import VERSION

__all__ = ["Http", "Request"]

log = logging.getLogger("parlance")

TIME_LIMIT_SECS = 60.0
"""
Failed requests are repeated for this long after the first attempt, which may have waited for the rate limit before. A refusal that names a longer wait is raised.
"""
LEAST_DELAY_SECS = 0.01
"""The delay after a rate limit that names a shorter one. It doubles with each attempt, up to ``LONGEST_DELAY_SECS``."""
LONGEST_DELAY_SECS = 8.0
"""The longest delay, unless the answer names a longer one."""
NO_LIMITS = ("exported_recently", "images_waiting", "slowmode", "two_factor_locked")
"""The codes of 429 that limit something else than requests, so nothing is repeated."""
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

    @property
    def owner(self) -> str:
        """The channel, server or other object that the path begins with."""
        return self.params[0] if self.params else ""

    @property
    def turn(self) -> tuple[str, str, str] | None:
        """
        Requests with the same turn are sent one after another, so that posts into a channel arrive in the order of the calls: those with a body, a method, and an
        object. In a channel, reactions, pins and the like have a turn without a body. None: the order does not matter.
        """
        has_body = self.body is not None or self.files or self.image is not None
        changes_channel = self.method in ("PUT", "POST") and self.path.startswith("/api/channels/")
        return (self.method, self.path.split("{")[0], self.owner) if self.params and (has_body or changes_channel) else None


class NoAnswer(Exception):
    """An answer that does not come from Parlance."""


class Http:
    """The connections to one service, with the token of one bot."""

    def __init__(self, url: str, token: str | None, *, timeout: float, max_retries: int, on_warning: Callable[[str], None]) -> None:
        self.url = to_base_url(url)
        self.token = to_token(token)
        self._timeout = timeout
        self._max_retries = max_retries
        self._on_warning = on_warning
        self._buckets = Buckets()
        self._turns = Turns()
        self._warnings: set[str] = set()
        self._session: aiohttp.ClientSession | None = None
        self._is_closed = False

    @property
    def session(self) -> aiohttp.ClientSession:
        """The connections. Use it in a running event loop only. Raises ParlanceError after ``close``."""
        if self._is_closed:
            raise ParlanceError("this client is stopped; create a new Client")
        if self._session is None:
            self._session = aiohttp.ClientSession(headers={"User-Agent": f"parlance-python/{VERSION}"})
        return self._session

    async def close(self) -> None:
        """Closes all connections."""
        self._is_closed = True
        if self._session is not None:
            await self._session.close()

    async def send(self, request: Request, *, max_retries: int | None = None) -> Any:
        """
        Sends a request, repeats it if that is safe, and returns the parsed answer. Raises ApiError or RequestFailed. After a rate limit, and while an earlier
        attempt with the same key still runs, it is repeated more often than ``max_retries``.
        """
        headers, body = self._write_body(request)
        async with self._turns.take(request.turn):
            return await self._repeat(request, headers, body, 1 + (self._max_retries if max_retries is None else max_retries))

    async def _repeat(self, request: Request, headers: Mapping[str, str], body: bytes | None, attempts: int) -> Any:
        can_repeat = request.method != "POST" or request.creates
        deadline = inf
        attempt, may_be_done = 0, False
        while True:
            attempt += 1
            delay = random.uniform(0, min(LONGEST_DELAY_SECS, 0.5 * 2**attempt))
            await self._buckets.wait(request.name, request.owner, needs_token=request.needs_token)
            if attempt == 1:
                deadline = time.monotonic() + TIME_LIMIT_SECS
            try:
                status, answer_headers, answer = await self._send_allowed(request, headers, body)
            except (aiohttp.ClientError, asyncio.TimeoutError, OSError, NoAnswer) as error:
                if self._is_closed:
                    raise ParlanceError(f"{request.name}: the client was stopped") from error
                was_sent = not isinstance(error, aiohttp.ClientConnectorError)
                if attempt >= attempts or time.monotonic() + delay > deadline or (was_sent and not can_repeat):
                    raise RequestFailed(f"{request.name}: {error or 'no answer in time'}") from error
                may_be_done = may_be_done or was_sent
                log.debug("%s: %s; trying again in %.2f s", request.name, error, delay)
            else:
                if status < 300:
                    return answer
                refusal = self._to_error(request, status, answer_headers, answer)
                if status == 404 and request.method == "DELETE" and may_be_done:
                    return None  # an earlier attempt, whose answer was lost, has deleted it
                is_running = refusal.code == "idempotency_conflict" and attempt > 1
                is_limited = status == 429 and refusal.code not in NO_LIMITS
                is_repeated = attempt < attempts and status in TEMPORARY and can_repeat
                if refusal.retry_after is not None:
                    least = min(LONGEST_DELAY_SECS, LEAST_DELAY_SECS * 2**attempt) if is_limited else delay
                    delay = max(least, refusal.retry_after)
                if not (is_running or is_limited or is_repeated) or time.monotonic() + delay > deadline:
                    raise refusal
                if is_limited:
                    self._buckets.block(request.name, request.owner, answer_headers, delay)
                may_be_done = may_be_done or status in TEMPORARY
                log.debug("%s: %s %s; trying again in %.2f s", request.name, status, refusal.code, delay)
            await asyncio.sleep(delay)

    async def _send_allowed(self, request: Request, headers: Mapping[str, str], body: bytes | None) -> tuple[int, Mapping[str, str], Any]:
        """One attempt, after the rate limit has allowed it."""
        try:
            status, answer_headers, answer = await self._send_once(request, headers, body)
        except BaseException:
            self._buckets.fail(request.name)
            raise
        self._buckets.update(request.name, request.owner, answer_headers, status)
        self._report_warnings(request, answer_headers)
        return status, answer_headers, answer

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
            form = aiohttp.FormData(quote_fields=False)  # names of files are sent as they are, in UTF-8
            form.add_field("payload_json", (body or b"{}").decode(), content_type="application/json")
            for file in request.files:
                form.add_field("files", file.data, filename=to_form_name(file.name), content_type=file.media_type)
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
            except (ValueError, RecursionError) as error:
                if response.status < 300:
                    kind = response.headers.get("Content-Type") or "unknown"
                    raise NoAnswer(f"the answer is not JSON ({kind}): a proxy, or another server, answers at {self.url}") from error
                answer = None
            if 300 <= response.status < 400:
                raise NoAnswer(f"{self.url} redirects to {to_origin(response.headers.get('Location'))}: use the address of Parlance itself")
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
        fields, missing = body.get("errors"), body.get("missing")
        return ApiError(
            request.name,
            status,
            code=str(body.get("code") or f"http_{status}"),
            message=str(body.get("message") or "this answer does not come from Parlance, but from a proxy or another server"),
            fields=[
                FieldError(str(one.get("path", "")), str(one.get("message", "")))
                for one in (fields if isinstance(fields, list) else ())
                if isinstance(one, dict)
            ],
            missing=[str(one) for one in missing] if isinstance(missing, list) else (),
            retry_after=to_seconds(body.get("retryAfter", headers.get("Retry-After"))),
            request_id=body.get("requestId") or headers.get("X-Request-Id"),
        )


def to_base_url(url: str) -> str:
    """The address of a service without a slash at the end. Its API is at ``/api``, which may be part of what is given. Raises ValueError."""
    text = re.sub(r"(/+api)?/*$", "", url.strip())
    try:
        parsed = URL(text)
        is_valid = parsed.scheme in ("http", "https") and bool(parsed.host) and parsed.port is not None
    except ValueError:
        is_valid = False
    if not is_valid or re.search(r"[\s?#@]", text):
        shown = "" if "@" in text else f", not {url!r}"
        raise ValueError(f"PARLANCE_URL (url) must be an address such as https://chat.example or http://localhost:8080{shown}")
    return str(parsed).rstrip("/")


def to_token(token: str | None) -> str | None:
    """A token without what is often copied with it: the word Bot, and spaces and line ends around it. Raises ValueError."""
    text = re.sub(r"^Bot\s+", "", (token or "").strip())
    if not re.fullmatch(r"[!-~]*", text):
        raise ValueError("PARLANCE_TOKEN (token) has spaces, line ends or other characters that no token has; copy it again")
    return text or None


def to_form_name(name: str) -> str:
    """The name of a file in a form, as browsers write it; aiohttp escapes quotes and backslashes."""
    return name.replace("\r", "%0D").replace("\n", "%0A")


def to_origin(address: str | None) -> str:
    """The scheme and the host of an address; the rest may have secrets."""
    parts = urlsplit(address or "")
    return f"{parts.scheme}://{parts.hostname}" if parts.hostname else "another page"


def to_seconds(value: object) -> float | None:
    """The seconds to wait, of a field or header with a number or a date. None if there are none."""
    try:
        seconds = float(str(value))
    except ValueError:
        try:
            date = parsedate_to_datetime(str(value))
        except ValueError:
            return None
        date = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
        seconds = (date - datetime.now(timezone.utc)).total_seconds()
    return max(0.0, seconds) if isfinite(seconds) else None


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
