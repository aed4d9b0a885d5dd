"""The gateway: one session that is resumed on a new connection whenever the old one is lost."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import aiohttp
from yarl import URL

from .errors import GatewayClosed, ParlanceError
from .http import Http, Request
from .lifecycle import Disconnected, EventsMissed, Session
from .work import Work

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
STABLE_SECS = 10.0
"""A connection that lasted this long ends a row of failures."""

Dispatch = Callable[[str, Any], Iterable[asyncio.Task[None]]]


class Gateway:
    """
    Keeps one session with the gateway. ``dispatch`` gets each event once and in order, also across connections, and returns the tasks of its listeners. While
    ``work`` has no room for more of them, nothing is read from the connection, so a bot that is too slow does not fill its memory. ``notify`` gets the events of
    the connection itself, and ``on_handled`` is called when ``session`` has changed.
    """

    def __init__(
        self,
        http: Http,
        work: Work,
        events: Sequence[str],
        *,
        resume_from: Session | None,
        dispatch: Dispatch,
        notify: Callable[[str, object], object],
        on_handled: Callable[[], None],
    ) -> None:
        self._http = http
        self._work = work
        self._events = list(events)
        self._dispatch = dispatch
        self._notify = notify
        self._on_handled = on_handled
        self._ws: aiohttp.ClientWebSocketResponse | None = None
        self._received = resume_from
        """The session with the position of the last event that was received. Positions are opaque."""
        self._unfinished: dict[asyncio.Task[None], Session] = {}
        """The listeners that still run, in the order of their events, each with the session before its event."""
        self._resume_url = resume_from.url if resume_from else None
        self._delay: float | None = None
        """The delay before the next connection that the gateway asked for."""
        self._is_acknowledged = True
        self._is_busy = False
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
            if code in FATAL:
                raise GatewayClosed(code, reason or FATAL[code])
            self._notify("DISCONNECTED", Disconnected(code, reason))
            if code == 4007:
                self._lose_session("the gateway does not know the position")
            if time.monotonic() - began >= STABLE_SECS:
                failures = 0
            delay = random.uniform(0, min(LONGEST_DELAY_SECS, 2.0**failures)) if self._delay is None else self._delay
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
        log.warning("the gateway session cannot be resumed, so events may be missing: %s", reason)
        self._notify("EVENTS_MISSED", EventsMissed(reason))

    async def _connect(self) -> tuple[int, str]:
        """Runs one connection. Returns its close code, or 1006 if it broke or could not be opened, and the reason."""
        try:
            resume_url, self._resume_url = self._resume_url, None  # if this fails, the next connection uses the address of the service
            url = resume_url
            if url is None:
                url = str((await self._http.send(Request("GET", "/api/gateway", needs_token=False), max_retries=0))["url"])
            async with asyncio.timeout(CONNECT_SECS):
                ws = await self._http.session.ws_connect(URL(url).update_query(v="1"), max_msg_size=FRAME_BYTES, timeout=2.0)
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ParlanceError) as error:
            return 1006, str(error) or "no answer in time"
        self._ws, self._resume_url = ws, resume_url
        heartbeat: asyncio.Task[None] | None = None
        try:
            if self._closing.is_set():
                return END, ""
            hello = await ws.receive(HELLO_SECS)
            if hello.type is not aiohttp.WSMsgType.TEXT:
                return to_close(ws, hello)
            frame = json.loads(hello.data)
            heartbeat = asyncio.create_task(self._send_heartbeats(ws, frame["d"]["heartbeatIntervalMs"] / 1000))
            await self._introduce(ws)
            return await self._read(ws)
        except (asyncio.TimeoutError, ConnectionError, ValueError, KeyError, TypeError) as error:
            return 1006, str(error) or "no answer in time"
        finally:
            self._ws = None
            if heartbeat is not None:
                heartbeat.cancel()
            await ws.close(code=self._close_code)

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
            if not self._is_acknowledged and not self._is_busy:
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
            if message.type is not aiohttp.WSMsgType.TEXT:
                return to_close(ws, message)
            frame = json.loads(message.data)
            op, data = frame.get("op"), frame.get("d")
            if op == 0:
                await self._receive(frame["t"], data, frame["s"])
            elif op == 11:
                self._is_acknowledged = True
            elif op == 7:
                self._delay = float((data or {}).get("retryAfterMs", 0)) / 1000
                return RECONNECT, "the gateway node stops"
            elif op == 9:
                self._lose_session((data or {}).get("reason") or "the session is over")
                return RECONNECT, "the session is over"

    async def _receive(self, name: str, data: Any, position: str) -> None:
        self._is_busy = True
        await self._work.wait_for_room()
        self._is_busy = False
        self._is_acknowledged = True  # its acknowledgement may wait behind this event
        if self._closing.is_set():
            return  # a session that is kept brings this event again
        if name == "READY":
            self._received, self._resume_url = Session(data["sessionId"], data["resumeUrl"], position), data["resumeUrl"]
        elif name == "RESUMED":
            log.info("the gateway session was resumed, with %s missed events", data.get("replayed"))
        before = self._received
        if before is None:
            return
        self._received = replace(before, position=position)
        for task in self._dispatch(name, data):
            self._unfinished[task] = before
            task.add_done_callback(self._finish)
        self._on_handled()

    def _finish(self, task: asyncio.Task[None]) -> None:
        """Moves the session behind an event whose listeners have ended. One that was cancelled by a stop has not handled its event."""
        if task in self._unfinished and not task.cancelled():
            del self._unfinished[task]
            self._on_handled()


def to_close(ws: aiohttp.ClientWebSocketResponse, message: aiohttp.WSMessage) -> tuple[int, str]:
    """The close code and reason of a connection whose last message was not text."""
    if message.type is aiohttp.WSMsgType.CLOSE:
        return int(message.data or 1005), str(message.extra or "")
    return ws.close_code or 1006, str(ws.exception() or "")
