"""Keeps the order of what must not overtake."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

__all__ = ["Turns"]


class Turns:
    """Lets one caller of each key pass at a time, in the order in which they came."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, tuple[asyncio.Lock, int]] = {}
        """The lock of each key that is used, and how many callers have it or wait for it."""

    @asynccontextmanager
    async def take(self, key: Hashable | None) -> AsyncIterator[None]:
        """A context in which no other caller of this key is. None is no key."""
        if key is None:
            yield
            return
        lock, users = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[key]
            if users == 1:
                del self._locks[key]
            else:
                self._locks[key] = (lock, users - 1)
