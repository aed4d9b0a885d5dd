"""The gateway: one session that is resumed on a new connection whenever the old one is lost."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import aiohttp
from yarl import URL

from .errors import GatewayClosed, ParlanceError
from .http import Http, Request
from .lifecycle import Disconnected, EventsMissed, Session

__all__ = ["Gateway"]

log = logging.getLogger("parlance")

FATAL = {
    4002: "the gateway did not accept a message of this client",
    4004: "the token is not valid",
    4012: "the gateway does not support this version of the protocol",
}
"""Close codes after which another attempt cannot succeed."""
END, RECONNECT = 1000, 4000
"""The close codes that the client sends. 1000 ends the session; another code keeps it for 5 minutes."""
FRAME_BYTES = 16 * 1024 * 1024
HELLO_SECS = 30.0
CONNECT_SECS = 15.0
LONGEST_DELAY_SECS = 60.0
LEAST_INTERVAL_SECS, LONGEST_INTERVAL_SECS = 0.05, 600.0
"""The bounds of the time between two heartbeats, whatever the gateway says."""
ENDS = (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
"""What says that a connection has ended."""
STABLE_SECS = 10.0
"""A connection that lasted this long ends a row of failures."""

Dispatch = Callable[[str, Mapping[str, Any], int], Iterable[asyncio.Future[None]]]


class BadFrame(Exception):
    """A frame that is not as documented, for example because something between the client and the gateway has changed it."""


class Gateway:
    """
    Keeps one session with the gateway. ``dispatch`` gets each event once and in order, also across connections, with its size in characters, and returns what ends
    when its listeners have ended. ``notify`` gets the events of the connection itself, and ``on_handled`` is called when ``session`` has changed.
    """

    def __init__(
        self,
        http: Http,
        events: Sequence[str],
        *,
        resume_from: Session | None,
        dispatch: Dispatch,
        notify: Callable[[str, object], object],
        on_handled: Callable[[], None],
    ) -> None:
        self._http = http
        self._events = list(events)
        self._dispatch = dispatch
        self._notify = notify
        self._on_handled = on_handled
        self._ws: aiohttp.ClientWebSocketResponse | None = None
        self._received = resume_from
        """The session with the position of the last event that was received. Positions are opaque."""
        self._unfinished: dict[asyncio.Future[None], Session] = {}
        """The listeners that still run, in the order of their events, each with the session before its event."""
        self._resume_url = resume_from.url if resume_from else None
        self._is_unproven = resume_from is not None
        """Whether the session comes from outside and was not resumed yet, so that it may be damaged."""
        self._delay: float | None = None
        """The delay before the next connection that the gateway asked for."""
        self._is_acknowledged = True
        self._is_lost = False
        """Whether the listeners know that the connection is lost."""
        self._closing = asyncio.Event()
        self._close_code = RECONNECT

    @property
    def session(self) -> Session | None:
        """The session, with the position up to which all events are handled."""
        return next(iter(self._unfinished.values()), self._received)

    async def run(self) -> None:
        """Connects, and connects again whenever the connection is lost, until ``close``. Raises GatewayClosed if the gateway refuses this client."""
        failures = 0
        while not self._closing.is_set():
            began = time.monotonic()
            code, reason = await self._connect()
            if self._closing.is_set():
                return
            if code == 4007 or (code == 4002 and self._is_unproven):
                self._lose_session("the gateway does not know the position")
            elif code in FATAL:
                raise GatewayClosed(code, reason or FATAL[code])
            if not self._is_lost:
                self._is_lost = True
                self._notify("DISCONNECTED", Disconnected(code, reason))
            if time.monotonic() - began >= STABLE_SECS:
                failures = 0
            delay = random.uniform(0, min(LONGEST_DELAY_SECS, 2.0 ** min(failures, 6))) if self._delay is None else self._delay
            self._delay = None
            failures += 1
            log.info("the gateway connection ended (%s); connecting again in %.1f s", reason or code, delay)
            try:
                await asyncio.wait_for(self._closing.wait(), delay)
            except asyncio.TimeoutError:
                pass

    async def close(self, *, keep_session: bool) -> None:
        """Disconnects, and ends the session unless it is kept."""
        self._closing.set()
        if not keep_session:
            self._close_code = END
            self._forget_session()
        if self._ws is not None:
            await self._ws.close(code=self._close_code)

    def _forget_session(self) -> None:
        self._received = self._resume_url = None
        self._unfinished.clear()

    def _lose_session(self, reason: str) -> None:
        if self._received is None:
            return
        self._forget_session()
        self._is_unproven = False
        log.warning("the gateway session cannot be resumed, so events may be missing: %s", reason)
        self._notify("EVENTS_MISSED", EventsMissed(reason))

    async def _connect(self) -> tuple[int, str]:
        """Runs one connection. Returns its close code, or 1006 if it broke or could not be opened, and the reason."""
        try:
            resume_url, self._resume_url = self._resume_url, None  # if this fails, the next connection uses the address of the service
            url = resume_url or await self._find_url()
            async with asyncio.timeout(CONNECT_SECS):
                ws = await self._http.session.ws_connect(URL(url).update_query(v="1"), max_msg_size=FRAME_BYTES, timeout=2.0)
        except Exception as error:  # the address may be anything, too
            return 1006, str(error) or "no answer in time"
        self._ws, self._resume_url = ws, resume_url
        heartbeat: asyncio.Task[None] | None = None
        try:
            if self._closing.is_set():
                return END, ""
            hello = await ws.receive(HELLO_SECS)
            if hello.type in ENDS:
                return to_close(ws, hello)
            heartbeat = asyncio.create_task(self._send_heartbeats(ws, to_interval(to_frame(hello))))
            await self._introduce(ws)
            return await self._read(ws)
        except BadFrame as error:
            log.warning("the gateway sent something that this client does not understand (%s)", error)
            return 1006, str(error)
        except (asyncio.TimeoutError, ConnectionError) as error:
            return 1006, str(error) or "no answer in time"
        except Exception as error:  # nothing that arrives may end the bot
            log.exception("something that the gateway sent could not be handled")
            return 1006, repr(error)
        finally:
            self._ws = None
            if heartbeat is not None:
                heartbeat.cancel()
            await ws.close(code=self._close_code)

    async def _find_url(self) -> str:
        answer = await self._http.send(Request("GET", "/api/gateway", needs_token=False), max_retries=0)
        url = answer.get("url") if isinstance(answer, dict) else None
        if not isinstance(url, str):
            raise ParlanceError(f"GET /api/gateway: the answer does not come from Parlance; is {self._http.url} its address?")
        return url

    async def _introduce(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        """Resumes the session, or begins one."""
        if self._received is not None:
            data = {"token": self._http.token, "sessionId": self._received.id, "seq": self._received.position}
            await ws.send_json({"op": 6, "d": data})
        else:
            await ws.send_json({"op": 2, "d": {"token": self._http.token, "events": self._events}})

    async def _send_heartbeats(self, ws: aiohttp.ClientWebSocketResponse, interval: float) -> None:
        """Sends heartbeats, and closes a connection on which the last one was not acknowledged."""
        self._is_acknowledged = True
        await asyncio.sleep(interval * random.uniform(0.1, 1))
        while not ws.closed:
            if not self._is_acknowledged:
                log.info("the gateway did not acknowledge a heartbeat")
                await ws.close(code=RECONNECT)
                return
            self._is_acknowledged = False
            try:
                await ws.send_json({"op": 1, "d": self._received.position if self._received else None})
            except ConnectionError:
                return
            await asyncio.sleep(interval)

    async def _read(self, ws: aiohttp.ClientWebSocketResponse) -> tuple[int, str]:
        while True:
            message = await ws.receive()
            if message.type in ENDS:
                return to_close(ws, message)
            frame = to_frame(message)
            op, data = frame["op"], frame.get("d")
            fields: Mapping[str, Any] = data if isinstance(data, dict) else {}
            if op == 0:
                self._receive(frame, len(message.data))
            elif op == 11:
                self._is_acknowledged = True
            elif op == 7:
                self._delay = to_delay(fields.get("retryAfterMs"))
                return RECONNECT, "the gateway node stops"
            elif op == 9:
                self._lose_session(str(fields.get("reason") or "the session is over"))
                return RECONNECT, "the session is over"

    def _receive(self, frame: Mapping[str, Any], size: int) -> None:
        name, data, position = frame.get("t"), frame.get("d"), frame.get("s")
        if not isinstance(name, str) or not isinstance(position, str) or not isinstance(data, dict):
            raise BadFrame("an event without t, s or d")
        if self._closing.is_set():
            return  # a session that is kept brings this event again
        if name == "READY":
            session_id, url = data.get("sessionId"), data.get("resumeUrl")
            if not isinstance(session_id, str) or not isinstance(url, str):
                raise BadFrame("READY without sessionId or resumeUrl")
            self._received, self._resume_url = Session(session_id, url, position), url
        elif name == "RESUMED":
            log.info("the gateway session was resumed, with %s missed events", data.get("replayed"))
        if name in ("READY", "RESUMED"):
            self._is_lost = self._is_unproven = False
        before = self._received
        if before is None:
            return
        self._received = replace(before, position=position)
        for done in self._dispatch(name, data, size):
            self._unfinished[done] = before
            done.add_done_callback(self._finish)
        self._on_handled()

    def _finish(self, done: asyncio.Future[None]) -> None:
        """Moves the session behind an event whose listeners have ended. One that was cancelled by a stop has not handled its event."""
        if done in self._unfinished and not done.cancelled():
            del self._unfinished[done]
            self._on_handled()


def to_close(ws: aiohttp.ClientWebSocketResponse, message: aiohttp.WSMessage) -> tuple[int, str]:
    """The close code and reason of a connection that has ended."""
    if message.type is aiohttp.WSMsgType.CLOSE:
        return int(message.data or 1005), str(message.extra or "")
    return ws.close_code or 1006, str(ws.exception() or "")


def to_frame(message: aiohttp.WSMessage) -> dict[str, Any]:
    """A frame of the gateway. Raises BadFrame."""
    if message.type is not aiohttp.WSMsgType.TEXT:
        raise BadFrame("a frame that is not text")
    try:
        frame = json.loads(message.data)
    except (ValueError, RecursionError) as error:
        raise BadFrame("a frame that is not JSON") from error
    if not isinstance(frame, dict) or not is_number(frame.get("op")):
        raise BadFrame("a frame without op")
    return frame


def to_interval(hello: Mapping[str, Any]) -> float:
    """The seconds between two heartbeats, of the first frame. Raises BadFrame."""
    data = hello.get("d")
    interval: Any = data.get("heartbeatIntervalMs") if isinstance(data, dict) else None
    if hello["op"] != 10 or not is_number(interval) or interval <= 0:
        raise BadFrame("no heartbeatIntervalMs in the first frame")
    return min(max(float(interval) / 1000, LEAST_INTERVAL_SECS), LONGEST_INTERVAL_SECS)


def to_delay(value: Any) -> float | None:
    """The seconds until the next connection that the gateway asks for. None if it does not."""
    return min(float(value) / 1000, LONGEST_DELAY_SECS) if is_number(value) and value >= 0 else None


def is_number(value: Any) -> bool:
    """Whether a value of JSON is a number that can be a time or a code; True and NaN are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15
