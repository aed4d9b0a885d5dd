"""Commands: their declaration from the signature of a function, and their registration."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, NewType

from .generated.models import Command, CommandInput, CommandOptionInput, Message, OptionType, PrefixCommand, SlashCommand
from .interactions import Interaction

__all__ = ["ChannelId", "PrefixHandler", "RoleId", "SlashHandler", "UserId", "declare", "merge", "to_key"]

UserId = NewType("UserId", str)
"""The type of a parameter for which people choose a member."""
RoleId = NewType("RoleId", str)
"""The type of a parameter for which people choose a role."""
ChannelId = NewType("ChannelId", str)
"""The type of a parameter for which people choose a channel."""

OPTION_TYPES: dict[object, OptionType] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    UserId: "user",
    RoleId: "role",
    ChannelId: "channel",
}


@dataclass(frozen=True, slots=True)
class SlashHandler:
    """A slash command: what is registered, and its handler."""

    input: CommandInput
    handler: Callable[..., Awaitable[object]]
    ephemeral: bool

    async def run(self, interaction: Interaction) -> None:
        """Calls the handler with the values of the options as named arguments."""
        known = {option.name for option in self.input.options or ()}
        await self.handler(interaction, **{name: value for name, value in interaction.options.items() if name in known})


@dataclass(frozen=True, slots=True)
class PrefixHandler:
    """A prefix command: what is registered, and its handler, which gets the message and the text after the command."""

    input: CommandInput
    handler: Callable[[Message, str], Awaitable[object]]

    def match(self, content: str) -> str | None:
        """The text after the command, if ``content`` uses it."""
        start = f"{self.input.prefix}{self.input.name}"
        found = re.match(rf"{re.escape(start)}(?:\s+|$)", content)
        return content[found.end() :] if found else None


def declare(
    name: str,
    description: str | None,
    options: Mapping[str, str] | None,
    handler: Callable[..., Awaitable[object]],
) -> CommandInput:
    """Reads a slash command from a handler: each parameter after the first one is an option. Raises TypeError if that is not possible."""
    hints = typing.get_type_hints(handler)
    parameters = list(inspect.signature(handler).parameters.values())[1:]
    unknown = set(options or {}) - {parameter.name for parameter in parameters}
    if unknown:
        raise TypeError(f"/{name} has no parameter for the option {', '.join(sorted(unknown))}")
    inputs = [
        CommandOptionInput(
            name=parameter.name,
            description=(options or {}).get(parameter.name, parameter.name),
            type=to_option_type(name, parameter.name, hints.get(parameter.name, str)),
            required=parameter.default is inspect.Parameter.empty,
        )
        for parameter in parameters
    ]
    inputs.sort(key=lambda option: not option.required)
    about = description or (inspect.getdoc(handler) or name).split("\n")[0]
    return CommandInput(name=name, description=about, kind="slash", options=inputs)


def to_option_type(command: str, name: str, hint: Any) -> OptionType:
    """The type of an option by the type of its parameter. ``int | None`` counts as ``int``."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next((one for one in typing.get_args(hint) if one is not type(None)), str)
    if hint not in OPTION_TYPES:
        raise TypeError(f"the parameter {name} of /{command} must be str, int, float, bool, UserId, RoleId or ChannelId")
    return OPTION_TYPES[hint]


def to_key(command: Command | CommandInput) -> tuple[str, str]:
    """What tells a command apart from the others of an application: its kind and name."""
    return (command.kind or "slash", command.name)


def to_input(command: Command | CommandInput) -> CommandInput:
    """A command as it is saved."""
    kind, name = to_key(command)
    prefix = None if isinstance(command, SlashCommand) else command.prefix
    options = None if isinstance(command, PrefixCommand) else command.options
    inputs = [
        CommandOptionInput(name=one.name, description=one.description, type=one.type or "string", required=bool(one.required))
        for one in options or ()
    ]
    return CommandInput(
        name=name,
        description=command.description or "",
        kind="prefix" if kind == "prefix" else "slash",
        prefix=prefix or None,
        options=None if kind == "prefix" else inputs,
    )


def merge(wanted: list[CommandInput], found: list[Command], *, remove_others: bool) -> tuple[list[CommandInput] | None, list[str]]:
    """
    The commands to save, or None if the service has them all, and how people write the others that the service has. Others are kept unless ``remove_others``.
    """
    declared = {to_key(command): to_input(command) for command in wanted}
    saved = {to_key(command): to_input(command) for command in found}
    others = {key: command for key, command in saved.items() if key not in declared}
    merged = declared if remove_others else others | declared
    names = [f"{command.prefix or '/'}{command.name}" for command in others.values()]
    return (None if merged == saved else list(merged.values())), names
