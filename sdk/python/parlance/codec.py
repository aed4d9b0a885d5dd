"""Turns JSON into the generated dataclasses, and dataclasses into JSON."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from typing import Any, Literal

__all__ = ["UNSET", "Unset", "decode", "encode", "to_json_name"]


class Unset:
    """The type of ``UNSET``."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()
"""The default of fields for which None has a meaning of its own: a field that is not given keeps its value, and None clears it."""

ONLY_RECEIVED = ("proxy_url", "proxy_icon_url")
"""The fields of received embeds that the service adds. They are not sent back."""

Decoder = Callable[[Any], Any]


@cache
def to_json_name(name: str) -> str:
    """The name of a field in JSON: ``icon_url`` is ``iconUrl``, and ``from_`` is ``from``."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def decode(kind: Any, value: object) -> Any:
    """Turns parsed JSON into ``kind``: a dataclass, a list of them, or a plain value. Unknown fields are ignored, and missing ones are None."""
    return _decoder(kind)(value)


def encode(value: object) -> Any:
    """Turns a value into what ``json.dumps`` takes. Optional fields of dataclasses are left out if they are None."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((field, getattr(value, field.name)) for field in dataclasses.fields(value) if field.name not in ONLY_RECEIVED)
        return {to_json_name(field.name): encode(inner) for field, inner in fields if inner is not None or field.default is dataclasses.MISSING}
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat()
    if isinstance(value, Mapping):
        return {key: encode(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [encode(inner) for inner in value]
    return value


@cache
def _decoder(kind: Any) -> Decoder:
    if dataclasses.is_dataclass(kind):
        return _class_decoder(kind)
    if kind is datetime:
        return _or_raw(datetime.fromisoformat)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _union_decoder([one for one in arguments if one is not type(None)])
    if origin in (list, Sequence):
        return _or_raw(lambda value: [_decoder(arguments[0])(one) for one in value])
    if origin in (dict, Mapping):
        return _or_raw(lambda value: {key: _decoder(arguments[1])(one) for key, one in value.items()})
    return lambda value: value


def _or_raw(read: Decoder) -> Decoder:
    """A newer service may send a form that this version does not know. It is passed on as it is, so that one field does not break the rest."""

    def decode_or_keep(value: Any) -> Any:
        try:
            return None if value is None else read(value)
        except (TypeError, ValueError, AttributeError):
            return value

    return decode_or_keep


def _class_decoder(kind: Any) -> Decoder:
    decoders: list[tuple[str, str, Decoder]] = []

    def decode_object(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        if not decoders:  # only now, because a class may contain itself
            hints = typing.get_type_hints(kind)
            decoders.extend((field.name, to_json_name(field.name), _decoder(hints[field.name])) for field in dataclasses.fields(kind))
        return kind(**{name: read(value.get(wire)) for name, wire, read in decoders})

    return decode_object


def _union_decoder(kinds: list[Any]) -> Decoder:
    classes = [kind for kind in kinds if dataclasses.is_dataclass(kind)]
    if len(kinds) == 1 or not classes:
        return _decoder(kinds[0])
    tags = [(_tags(kind), _decoder(kind)) for kind in classes]

    def decode_variant(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        for names, read in tags:
            if names and all(value.get(name) in values for name, values in names.items()):
                return read(value)
        return tags[0][1](value)

    return decode_variant


def _tags(kind: Any) -> dict[str, tuple[Any, ...]]:
    """The fields of a class that tell it apart in a union: those with fixed values."""
    hints = typing.get_type_hints(kind)
    fixed = {to_json_name(name): typing.get_args(hint) for name, hint in hints.items() if typing.get_origin(hint) is Literal}
    return {name: values for name, values in fixed.items() if name in ("type", "kind")} or fixed
