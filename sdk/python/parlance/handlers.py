"""The listeners and commands of a bot: their declaration, and what runs them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from .codec import decode
from .commands import PrefixHandler, SlashHandler, declare, to_key
from .generated.events import NAMES, ON_REQUEST, PAYLOADS, EventName, Listener, Listeners
from .generated.models import CommandInput, Message
from .generated.models import Interaction as InteractionData
from .generated.operations import Api
from .interactions import Interaction
from .lifecycle import EventsMissed
from .work import Work

__all__ = ["Handlers"]

log = logging.getLogger("parlance")

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[object]])
BOT_TAGS = ("bot", "verified_bot")
UNKNOWN_COMMAND = "This command does not exist any more."
ERROR_LISTENER = "a listener of error"
NO_ANSWER = "The bot has finished without an answer."


class Handlers(Listeners):
    """The decorators for listeners and commands, and what runs them."""

    api: Api
    """The operations of the HTTP API."""

    def __init__(self, *, events: Iterable[EventName], auto_defer: float | None, error_reply: str | None, max_pending: int) -> None:
        self._listeners: dict[str, list[Listener[Any]]] = {name.upper(): [] for name in events}
        """The listeners by the name of the event in the protocol. The client asks for these events."""
        self._commands: dict[str, SlashHandler] = {}
        self._prefix_commands: list[PrefixHandler] = []
        self._auto_defer = auto_defer
        self._error_reply = error_reply
        self._work = Work(max_pending, on_error=self._report_error, on_full=self._report_full, on_warning=self._report_warning)
        self._is_started = False
        for name in self._listeners:
            check_name(name)

    # Declarations

    def _listen(self, name: str) -> Callable[[Listener[Any]], Listener[Any]]:
        check_name(name)
        if self._is_started and name in ON_REQUEST and name not in self._listeners:
            raise RuntimeError(f"add the first listener of {name.lower()} before the start, or name it in events=")

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
        they say otherwise. Declare commands before the start.
        """
        self._require_not_started(f"/{name}")

        def add(handler: Handler) -> Handler:
            if name in self._commands:
                raise ValueError(f"/{name} is declared twice")
            self._commands[name] = SlashHandler(declare(name, description, options, handler), handler, ephemeral)
            return handler

        return add

    def prefix_command(
        self, prefix: str, name: str, *, description: str = ""
    ) -> Callable[[Callable[[Message, str], Awaitable[object]]], Callable[[Message, str], Awaitable[object]]]:
        """
        Makes a function the handler of messages of people that begin with ``prefix`` and ``name``. It gets the message and the text after them. No two prefix
        commands have the same name.
        """
        self._require_not_started(prefix + name)

        def add(handler: Callable[[Message, str], Awaitable[object]]) -> Callable[[Message, str], Awaitable[object]]:
            command = CommandInput(name=name, description=description, kind="prefix", prefix=prefix)
            if any(to_key(one.input) == to_key(command) for one in self._prefix_commands):
                raise ValueError(f"the name of {prefix}{name} is declared twice; prefix commands need names of their own, also with different prefixes")
            self._prefix_commands.append(PrefixHandler(command, handler))
            return handler

        return add

    def _require_not_started(self, command: str) -> None:
        if self._is_started:
            raise RuntimeError(f"declare {command} before the start, which registers the commands")

    # Events

    def _dispatch(self, name: str, data: Mapping[str, Any], size: int) -> list[asyncio.Future[None]]:
        """Starts the listeners of an event of the gateway. Returns what must end before the event counts as handled."""
        kind = PAYLOADS.get(name)
        if kind is None:
            return []
        payload = decode(kind, data)
        if name == "READY":
            log.info("connected to the gateway, in %d servers", len(payload.servers or ()))
        if name in ("READY", "RESUMED"):
            self._notify(name, payload)
            return []
        if name == "INTERACTION_CREATE":
            return [self._start_interaction(payload)]
        running = self._match_prefix_commands(payload) if name == "MESSAGE_CREATE" else []
        return running + self._start_listeners(name, to_lane(name, data), payload, size)

    def _start_listeners(self, name: str, lane: str, payload: object, size: int) -> list[asyncio.Future[None]]:
        listeners = self._listeners.get(name)
        if not listeners or not self._work.has_room(lane, size=size):
            return []
        where = f"a listener of {name.lower()}"
        last = len(listeners) - 1
        return [
            self._work.add(lane, where, bind(listener, payload), size=size if at == last else 0, events=int(at == last))
            for at, listener in enumerate(listeners)
        ]

    def _notify(self, name: str, payload: object) -> None:
        """Starts the listeners of an event of the client itself."""
        self._start_listeners(name, f"notices of {name.lower()}", payload, 0)

    def _report_full(self, lane: str) -> None:
        reason = f"too many {lane} are unfinished, so further ones are skipped"
        log.warning("%s", reason)
        if lane.startswith(("events", "prefix commands")):
            self._notify("EVENTS_MISSED", EventsMissed(reason))

    def _report_error(self, where: str, error: Exception) -> None:
        if where != ERROR_LISTENER and self._listeners.get("ERROR"):
            error.add_note(f"It comes from {where}.")
            self._notify("ERROR", error)
        else:
            log.error("%s failed", where, exc_info=error)

    def _report_warning(self, text: str) -> None:
        if self._listeners.get("WARNING"):
            self._notify("WARNING", text)
        else:
            log.warning("%s", text)

    def _match_prefix_commands(self, message: Message) -> list[asyncio.Future[None]]:
        if message.author.tag in BOT_TAGS:
            return []
        found = ((command, command.match(message.content)) for command in self._prefix_commands)
        lane = f"prefix commands in channel {message.channel_id}"
        return [
            self._work.add(lane, f"{command.input.prefix}{command.input.name}", bind(command.handler, message, text))
            for command, text in found
            if text is not None and self._work.has_room(lane)
        ]

    def _start_interaction(self, data: InteractionData) -> asyncio.Future[None]:
        """Commands do not wait for the listeners of events, nor for each other."""
        lane = f"commands in channel {data.channel_id}"
        handle = self._handle_interaction if self._work.has_room(lane) else self._refuse_interaction
        return self._work.add(lane, f"/{data.data.name}", bind(handle, data), at_once=True)

    async def _receive_interaction(self, data: InteractionData) -> asyncio.Future[None]:
        return self._start_interaction(data)

    async def _refuse_interaction(self, data: InteractionData) -> None:
        await self._reply_with_error(Interaction(self.api, data))

    async def _handle_interaction(self, data: InteractionData) -> None:
        """Runs the handler of a command, defers if it takes long, and answers if it fails or does not answer."""
        command = self._commands.get(data.data.name)
        listeners = self._listeners.get("INTERACTION_CREATE")
        interaction = Interaction(self.api, data, ephemeral=command is not None and command.ephemeral)
        timer = None if self._auto_defer is None else asyncio.create_task(interaction.defer_after(self._auto_defer))
        try:
            if command is not None:
                await command.run(interaction)
            elif listeners:
                await asyncio.gather(*(listener(interaction) for listener in listeners))
            else:
                await interaction.reply(UNKNOWN_COMMAND, ephemeral=True)
            if await interaction.end(NO_ANSWER):
                self._report_warning(f"the handler of /{interaction.command} ended without an answer; await in it what answers")
        except Exception as error:
            self._report_error(f"the handler of /{interaction.command}", error)
            await self._reply_with_error(interaction)
        finally:
            if timer is not None:
                timer.cancel()

    async def _reply_with_error(self, interaction: Interaction) -> None:
        if self._error_reply is not None:
            await interaction.end(self._error_reply)


def check_name(name: str) -> None:
    """Refuses names of events that do not exist."""
    if name not in NAMES:
        raise ValueError(f"there is no event {name.lower()}")


def to_lane(name: str, data: Mapping[str, Any]) -> str:
    """What an event is kept in order with: its channel, otherwise its server, otherwise events of the same name."""
    channel = data.get("id") if name.startswith("CHANNEL_") else data.get("channelId")
    if channel:
        return f"events of channel {channel}"
    server = data.get("id") if name.startswith("SERVER_") else data.get("serverId")
    return f"events of server {server}" if server else f"events named {name.lower()}"


def bind(handler: Callable[..., Awaitable[object]], *arguments: object) -> Callable[[], Awaitable[object]]:
    """A job that calls a handler."""
    return lambda: handler(*arguments)
