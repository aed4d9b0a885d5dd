"""The client of a bot."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Iterable, Mapping
from types import TracebackType

from .commands import merge
from .endpoint import Endpoint
from .errors import ParlanceError
from .gateway import Gateway
from .generated.events import ON_REQUEST, EventName
from .generated.models import Me
from .generated.operations import Api
from .handlers import Handlers
from .http import Http
from .lifecycle import Session, to_session

__all__ = ["Client"]

log = logging.getLogger("parlance")


class Client(Handlers):
    """
    A bot. ``token`` and ``url`` default to the environment variables PARLANCE_TOKEN and PARLANCE_URL; without the latter, ``url`` is http://localhost:8080.

    ``events`` are asked for in addition to those that have a listener. ``resume_from`` is the session of an earlier process, as an object or as parsed JSON: the
    bot then receives what happened in between, if that was less than 5 minutes ago. A damaged one is logged, and a new session begins. ``remove_other_commands``
    removes the commands of the application that this program does not declare; otherwise they stay. ``auto_defer`` is after how many seconds a command without an
    answer is deferred; None turns that off. ``error_reply`` is what a person sees when the handler of a command fails. ``timeout`` is how many
    seconds an attempt of a request may take, and ``max_retries`` how often a request is repeated when the network or the service fails. At most ``max_pending``
    events of each channel wait for their listeners or run; further ones are skipped, and ``events_missed`` comes. ``stop_timeout`` is how many seconds a stop
    waits for handlers.
    """

    def __init__(
        self,
        token: str | None = None,
        url: str | None = None,
        *,
        events: Iterable[EventName] = (),
        resume_from: Session | Mapping[str, object] | None = None,
        remove_other_commands: bool = False,
        auto_defer: float | None = 2.0,
        error_reply: str | None = "Something went wrong.",
        timeout: float = 15.0,
        max_retries: int = 5,
        max_pending: int = 5000,
        stop_timeout: float = 10.0,
    ) -> None:
        super().__init__(events=events, auto_defer=auto_defer, error_reply=error_reply, max_pending=max_pending)
        address = url or os.environ.get("PARLANCE_URL") or "http://localhost:8080"
        token = token or os.environ.get("PARLANCE_TOKEN")
        self._http = Http(address, token, timeout=timeout, max_retries=max_retries, on_warning=self._report_warning)
        self.url = self._http.url
        """The address of the service."""
        self.api = Api(self._http.send)
        self.user: Me | None = None
        """The account of the bot, after the start."""
        self._resume_from = to_session(resume_from)
        self._is_damaged = resume_from is not None and self._resume_from is None
        self._remove_other_commands = remove_other_commands
        self._registering = asyncio.Lock()
        self._stop_timeout = stop_timeout
        self._gateway: Gateway | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._saved: Session | None = None
        self._saving: asyncio.Future[None] | None = None

    @property
    def session(self) -> Session | None:
        """The session with the position up to which all events are handled; None before the first one, and after it has ended."""
        return self._gateway.session if self._gateway else self._resume_from

    def endpoint(self, signing_secret: str) -> Endpoint:
        """The handler of an Interactions Endpoint, which runs the commands of this client. Raises ValueError if the secret is empty."""
        return Endpoint(signing_secret, self._receive_interaction)

    # Running

    async def register_commands(self) -> None:
        """
        Saves the declared commands, if they differ from what the service has. Others of the application stay, and are named in the log, unless the client was
        created with ``remove_other_commands``. ``start`` calls this.
        """
        async with self._registering:
            wanted = [command.input for command in self._commands.values()] + [command.input for command in self._prefix_commands]
            me = await self._load_user()
            if me.application_id is None:
                if not wanted:
                    return
                raise ParlanceError("this is not the token of a bot")
            found = await self.api.list_commands(me.application_id)
            commands, others = merge(wanted, found, remove_others=self._remove_other_commands)
            if commands is not None:
                await self.api.replace_commands(me.application_id, commands)
                log.info("registered %d commands", len(wanted))
            if others:
                names = ", ".join(sorted(others))
                if self._remove_other_commands:
                    log.info("removed the commands that this program does not declare: %s", names)
                else:
                    self._report_warning(f"commands that this program does not declare stay: {names}; remove_other_commands=True removes them")

    async def _load_user(self) -> Me:
        if self.user is None:
            self.user = await self.api.get_me()
        return self.user

    async def start(self) -> None:
        """
        Registers the commands, connects to the gateway, and returns after ``stop``. Raises GatewayClosed if the gateway refuses this client, and ApiError if the
        token is not valid.
        """
        if self._stopping is not None:
            raise ParlanceError("this client is stopped; create a new Client")
        if self._is_started:
            raise ParlanceError("this client is started already")
        self._is_started = True
        if self._is_damaged:
            self._report_warning("resume_from is not a session, so a new one begins; the file that it was read from may be empty or damaged")
        try:
            await self._load_user()
            await self.register_commands()
            if self._stopping is None:
                self._gateway = Gateway(
                    self._http,
                    sorted(self._listeners.keys() & ON_REQUEST),
                    resume_from=self._resume_from,
                    dispatch=self._dispatch,
                    notify=self._notify,
                    on_handled=self._start_saving,
                )
                await self._gateway.run()
        finally:
            await self.stop()
            await self._work.finish_released(self._stop_timeout)

    async def stop(self, *, keep_session: bool = False) -> None:
        """
        Disconnects, waits for handlers that still run, and closes all connections. With ``keep_session`` the session can be resumed for 5 minutes: save
        ``session`` afterwards, and pass it as ``resume_from`` to the client of the next process. A handler that calls this goes on afterwards; what it handles
        counts as handled.
        """
        self._work.release_caller()
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop(keep_session))
        await asyncio.shield(self._stopping)

    async def _stop(self, keep_session: bool) -> None:
        if self._gateway is not None:
            await self._gateway.close(keep_session=keep_session)
        await self._work.finish(self._stop_timeout)
        await self._http.close()

    async def __aenter__(self) -> Client:
        """For programs that only send requests: ``async with Client() as bot: await bot.api…``."""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.stop()

    def run(self, *, keep_session: bool = False, log_level: int | None = logging.INFO) -> None:
        """
        Runs the bot until SIGINT or SIGTERM, then stops it cleanly, with ``keep_session`` as in ``stop``. Logs to stderr, unless logging is set up already or
        ``log_level`` is None.
        """
        if log_level is not None:
            logging.basicConfig(level=log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        asyncio.run(self._run_until_signal(keep_session))

    async def _run_until_signal(self, keep_session: bool) -> None:
        stopping: set[asyncio.Task[None]] = set()

        def stop() -> None:
            stopping.add(asyncio.create_task(self.stop(keep_session=keep_session)))

        loop = asyncio.get_running_loop()
        for one in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(one, stop)
            except NotImplementedError:  # Windows
                signal.signal(one, lambda *_: loop.call_soon_threadsafe(stop))
        await self.start()

    # Session

    def _start_saving(self) -> None:
        if self._listeners.get("SESSION") and (self._saving is None or self._saving.done()):
            self._saving = self._work.add("notices of session", "a listener of session", self._save_session)

    async def _save_session(self) -> None:
        """Calls the listeners of the session until they know the newest one. What changes while they run comes as one change."""
        while self._saved != (session := self.session):
            self._saved = session
            if session is not None:
                await asyncio.gather(*(listener(session) for listener in self._listeners["SESSION"]))
