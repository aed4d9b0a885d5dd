"""The client of a bot."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, TypeVar

from .codec import decode
from .commands import PrefixHandler, SlashHandler, declare, is_registered
from .endpoint import Endpoint
from .errors import ParlanceError
from .gateway import Gateway
from .generated.events import ON_REQUEST, PAYLOADS, EventName, Listener, Listeners
from .generated.models import CommandInput, Me, Message
from .generated.models import Interaction as InteractionData
from .generated.operations import Api
from .http import Http
from .interactions import Interaction
from .work import Work

__all__ = ["Client"]

log = logging.getLogger("parlance")

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[object]])
BOT_TAGS = ("bot", "verified_bot")


class Client(Listeners):
    """
    A bot. ``token`` and ``url`` default to the environment variables PARLANCE_TOKEN and PARLANCE_URL.

    ``events`` are asked for in addition to those that have a listener. ``auto_defer`` is after how many seconds a command without an answer is deferred; None
    turns that off. ``error_reply`` is what a person sees when the handler of a command fails. At most ``max_pending`` events wait for their listeners or run;
    beyond that, the client reads no more events until some are finished. ``stop_timeout`` is how many seconds a stop waits for handlers.
    """

    def __init__(
        self,
        token: str | None = None,
        url: str | None = None,
        *,
        events: Iterable[EventName] = (),
        auto_defer: float | None = 2.0,
        error_reply: str | None = "Something went wrong.",
        timeout: float = 15.0,
        max_pending: int = 1000,
        stop_timeout: float = 10.0,
    ) -> None:
        address = url or os.environ.get("PARLANCE_URL")
        if not address:
            raise ValueError("pass the url of the service to the client, or set PARLANCE_URL")
        self._http = Http(address, token or os.environ.get("PARLANCE_TOKEN"), timeout=timeout)
        self.api = Api(self._http.send)
        """The operations of the HTTP API."""
        self.user: Me | None = None
        """The account of the bot, after the start."""
        self._events = {name.upper() for name in events}
        self._listeners: dict[str, list[Listener[Any]]] = {}
        self._commands: dict[str, SlashHandler] = {}
        self._prefix_commands: list[PrefixHandler] = []
        self._auto_defer = auto_defer
        self._error_reply = error_reply
        self._work = Work(max_pending)
        self._stop_timeout = stop_timeout
        self._gateway: Gateway | None = None
        self._stopping: asyncio.Task[None] | None = None

    # Declarations

    def _listen(self, name: str) -> Callable[[Listener[Any]], Listener[Any]]:
        if name not in PAYLOADS:
            raise ValueError(f"there is no event {name.lower()}")

        def add(listener: Listener[Any]) -> Listener[Any]:
            self._listeners.setdefault(name, []).append(listener)
            return listener

        return add

    def on_message(self, listener: Listener[Message]) -> Listener[Message]:
        """Makes a function the listener of new messages, the bot's own included: short for ``event("message_create")``."""
        return self.event("message_create")(listener)

    def command(
        self,
        name: str,
        *,
        description: str | None = None,
        options: Mapping[str, str] | None = None,
        ephemeral: bool = False,
    ) -> Callable[[Handler], Handler]:
        """
        Makes a function the handler of a slash command. Its first parameter is the interaction, each other one is an option: its type says what people may enter
        (``str``, ``int``, ``float``, ``bool``, ``UserId``, ``RoleId``, ``ChannelId``), and one with a default value can be left out. ``options`` has their
        descriptions. The description of the command defaults to the first line of the docstring. With ``ephemeral``, only the person sees the answers, unless
        they say otherwise.
        """

        def add(handler: Handler) -> Handler:
            if name in self._commands:
                raise ValueError(f"/{name} is declared twice")
            self._commands[name] = SlashHandler(declare(name, description, options, handler), handler, ephemeral)
            return handler

        return add

    def prefix_command(
        self, prefix: str, name: str, *, description: str = ""
    ) -> Callable[[Callable[[Message, str], Awaitable[object]]], Callable[[Message, str], Awaitable[object]]]:
        """Makes a function the handler of messages of people that begin with ``prefix`` and ``name``. It gets the message and the text after them."""

        def add(handler: Callable[[Message, str], Awaitable[object]]) -> Callable[[Message, str], Awaitable[object]]:
            command = CommandInput(name=name, description=description, kind="prefix", prefix=prefix)
            self._prefix_commands.append(PrefixHandler(command, handler))
            return handler

        return add

    def endpoint(self, signing_secret: str) -> Endpoint:
        """The handler of an Interactions Endpoint, which runs the commands of this client."""
        return Endpoint(signing_secret, self._start_interaction)

    # Running

    async def register_commands(self) -> None:
        """Registers the declared commands, if they differ from what the service has. ``start`` calls this."""
        wanted = [command.input for command in self._commands.values()] + [command.input for command in self._prefix_commands]
        if not wanted:
            return
        me = await self._load_user()
        if me.application_id is None:
            raise ParlanceError("this is not the token of a bot")
        if not is_registered(wanted, await self.api.list_commands(me.application_id)):
            await self.api.replace_commands(me.application_id, wanted)
            log.info("registered %d commands", len(wanted))

    async def _load_user(self) -> Me:
        if self.user is None:
            self.user = await self.api.get_me()
        return self.user

    async def start(self) -> None:
        """
        Registers the commands, connects to the gateway, and returns after ``stop``. Raises GatewayClosed if the gateway refuses this client, and ApiError if the
        token is not valid.
        """
        self._events |= self._listeners.keys()
        try:
            await self._load_user()
            await self.register_commands()
            if self._stopping is None:
                self._gateway = Gateway(self._http, sorted(self._events & ON_REQUEST), self._dispatch)
                await self._gateway.run()
        finally:
            await self.stop()

    async def stop(self) -> None:
        """Ends the session, waits for handlers that still run, and closes all connections."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())
        await asyncio.shield(self._stopping)

    async def _stop(self) -> None:
        if self._gateway is not None:
            await self._gateway.close()
        await self._work.finish(self._stop_timeout)
        await self._http.close()

    async def __aenter__(self) -> Client:
        """For programs that only send requests: ``async with Client() as bot: await bot.api…``."""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.stop()

    def run(self, *, log_level: int | None = logging.INFO) -> None:
        """Runs the bot until SIGINT or SIGTERM, then stops it cleanly. Logs to stderr, unless logging is set up already or ``log_level`` is None."""
        if log_level is not None:
            logging.basicConfig(level=log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        asyncio.run(self._run_until_signal())

    async def _run_until_signal(self) -> None:
        stopping: set[asyncio.Task[None]] = set()

        def stop() -> None:
            stopping.add(asyncio.create_task(self.stop()))

        loop = asyncio.get_running_loop()
        for one in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(one, stop)
            except NotImplementedError:  # Windows
                signal.signal(one, lambda *_: loop.call_soon_threadsafe(stop))
        await self.start()

    # Events

    async def _dispatch(self, name: str, data: Any) -> None:
        """Hands an event of the gateway to its listeners. Waits while too many are pending."""
        kind = PAYLOADS.get(name)
        if kind is None:
            return
        payload = decode(kind, data)
        if name == "READY":
            log.info("connected to the gateway, in %d servers", len(payload.servers or ()))
        if name == "INTERACTION_CREATE":
            await self._start_interaction(payload)
        if name == "MESSAGE_CREATE":
            await self._match_prefix_commands(payload)
        # Events of one channel have one order, and so have those of one server that belong to no channel.
        key = str(data.get("channelId") or data.get("serverId") or name)
        for listener in self._listeners.get(name, ()):
            await self._work.add(key, f"a listener of {name.lower()}", bind(listener, payload))

    async def _match_prefix_commands(self, message: Message) -> None:
        if message.author.tag in BOT_TAGS:
            return
        for command in self._prefix_commands:
            text = command.match(message.content)
            if text is not None:
                await self._work.add(None, f"{command.input.prefix}{command.input.name}", bind(command.handler, message, text))

    async def _start_interaction(self, data: InteractionData) -> asyncio.Task[None]:
        return await self._work.add(None, f"/{data.data.name}", bind(self._handle_interaction, data))

    async def _handle_interaction(self, data: InteractionData) -> None:
        """Runs the handler of a command, defers if it takes long, and answers if it fails."""
        command = self._commands.get(data.data.name)
        if command is None:
            log.warning("there is no handler of /%s", data.data.name)
            return
        interaction = Interaction(self.api, data, ephemeral=command.ephemeral)
        timer = None if self._auto_defer is None else asyncio.create_task(interaction.defer_after(self._auto_defer))
        try:
            await command.run(interaction)
            if not interaction.is_answered:
                log.warning("the handler of /%s ended without an answer", interaction.command)
        except Exception:
            log.exception("the handler of /%s failed", interaction.command)
            await self._reply_with_error(interaction)
        finally:
            if timer is not None:
                timer.cancel()

    async def _reply_with_error(self, interaction: Interaction) -> None:
        if self._error_reply is None:
            return
        try:
            await interaction.reply(self._error_reply, ephemeral=True)
        except ParlanceError as error:
            log.debug("%r could not be answered: %s", interaction, error)


def bind(handler: Callable[..., Awaitable[object]], *arguments: object) -> Callable[[], Awaitable[object]]:
    """A job that calls a handler."""
    return lambda: handler(*arguments)
