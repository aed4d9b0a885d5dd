"""Waits before requests that the service would refuse, as its rate limit headers say."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from math import isfinite

__all__ = ["Buckets"]

SHARED_BUCKETS = ("caller", "owner", "address", "login", "application")
"""The buckets that belong to the bot as a whole. All others are for one channel, interaction or webhook each."""
MOST_BUCKETS = 500
LEARN_SECS = 2.0
"""The first request of a route tells which bucket the route has. Others wait this long for it."""


class Bucket:
    """The requests that are left, as far as this process knows. They grow by ``rate`` in each second, up to ``limit``."""

    def __init__(self) -> None:
        self.limit = self.left = float("inf")
        self.rate = 0.0
        self.at = time.monotonic()
        self.blocked_until = 0.0
        self.lock = asyncio.Lock()
        """Its waiters get the requests in the order in which they came."""

    def refill(self) -> None:
        now = time.monotonic()
        self.left = min(self.limit, self.left + self.rate * (now - self.at))
        self.at = now

    @property
    def is_idle(self) -> bool:
        self.refill()
        return self.left >= self.limit and not self.lock.locked()

    async def take(self) -> None:
        async with self.lock:
            while (delay := self.find_delay()) > 0:
                await asyncio.sleep(delay)
            self.left -= 1

    def find_delay(self) -> float:
        self.refill()
        needed = (1 - self.left) / self.rate if self.left < 1 and self.rate > 0 else 0.0
        return max(needed, self.blocked_until - self.at)


class Buckets:
    """All rate limit buckets of one client."""

    def __init__(self) -> None:
        self._buckets: dict[tuple[str, str], Bucket] = {}
        self._names: dict[str, str | None] = {}
        """The bucket of each route that was called before; None if it has none."""
        self._more: dict[str, set[str]] = {}
        """Buckets that a route counts in as well. Answers tell of them when they refuse only."""
        self._learning: dict[str, asyncio.Event] = {}
        """The routes whose first request has no answer yet."""

    def _find(self, name: str, owner: str) -> Bucket:
        key = (name, "" if name in SHARED_BUCKETS else owner)
        if key not in self._buckets:
            if len(self._buckets) >= MOST_BUCKETS:
                self._buckets = {other: bucket for other, bucket in self._buckets.items() if not bucket.is_idle}
            self._buckets[key] = Bucket()
        return self._buckets[key]

    def _list(self, route: str, owner: str, *, needs_token: bool) -> list[Bucket]:
        """The buckets of a request. Those of a route that has had no answer yet are assumed: what the same object has, and that of the bot."""
        if route in self._names:
            names = [*self._more.get(route, ()), self._names[route]]
            return [self._find(name, owner) for name in names if name]
        assumed = [bucket for (_, other), bucket in self._buckets.items() if owner and other == owner]
        return [*assumed, self._find("caller", "")] if needs_token else assumed

    async def wait(self, route: str, owner: str, *, needs_token: bool = True) -> None:
        """
        Takes one request from the buckets of a route, and waits until the service would accept it. Requests without a token do not wait for what is to be learned,
        because somebody may wait for the answer to a command. Each call that returns needs one of ``update`` or ``fail``.
        """
        end = asyncio.get_running_loop().time() + LEARN_SECS
        is_first = False
        while needs_token and route not in self._names:
            learning = self._learning.get(route)
            if learning is None:
                self._learning[route] = asyncio.Event()
                is_first = True
                break
            try:
                async with asyncio.timeout_at(end):
                    await learning.wait()
            except TimeoutError:
                break
        try:
            for bucket in self._list(route, owner, needs_token=needs_token):
                await bucket.take()
        except asyncio.CancelledError:
            if is_first:
                self.fail(route)
            raise

    def fail(self, route: str) -> None:
        """Notes that a request got no answer."""
        if learning := self._learning.pop(route, None):
            learning.set()

    def update(self, route: str, owner: str, headers: Mapping[str, str], status: int) -> None:
        """Notes what the headers of an answer say."""
        name = headers.get("X-RateLimit-Bucket")
        known = self._names.get(route)
        if route not in self._names or (name and status < 300):
            self._names[route] = name
        elif status == 429 and name and name != known and name not in SHARED_BUCKETS:
            self._more.setdefault(route, set()).add(name)
        if name and self._has(route, name):
            self._update(self._find(name, owner), headers)
        self.fail(route)

    def _has(self, route: str, name: str) -> bool:
        return self._names.get(route) == name or name in self._more.get(route, ())

    @staticmethod
    def _update(bucket: Bucket, headers: Mapping[str, str]) -> None:
        try:
            limit, left = float(headers["X-RateLimit-Limit"]), float(headers["X-RateLimit-Remaining"])
            full_after = float(headers["X-RateLimit-Reset-After"])
        except (KeyError, ValueError):
            return
        if not (isfinite(limit) and isfinite(left) and isfinite(full_after) and limit >= 1):
            return
        bucket.refill()
        bucket.limit = limit
        # What is left is rounded down, so the rate is exact only when much was used.
        rate = (limit - left) / full_after if full_after > 0 and left < limit else 0.0
        if rate > 0 and (bucket.rate == 0 or rate < bucket.rate or left < limit / 2):
            bucket.rate = rate
        # Requests that are under way are not in the header yet, but already taken from the bucket.
        bucket.left = min(bucket.left, left)

    def block(self, route: str, owner: str, headers: Mapping[str, str], seconds: float) -> None:
        """Holds the requests of the bucket that has refused one back. If the refusal names another bucket, the route's own bucket is held."""
        name = headers.get("X-RateLimit-Bucket")
        held = name if name and self._has(route, name) else self._names.get(route)
        if held:
            bucket = self._find(held, owner)
            bucket.blocked_until = max(bucket.blocked_until, time.monotonic() + seconds)
