"""Waits before requests that the service would refuse, as its rate limit headers say."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

__all__ = ["Buckets"]

OWN_BUCKETS = ("interaction", "webhook")
"""The buckets that each interaction or webhook has for itself. All others belong to the bot."""
MOST_BUCKETS = 500


class Bucket:
    """The requests that are left, as far as this process knows. They grow by ``rate`` in each second, up to ``limit``."""

    def __init__(self) -> None:
        self.limit = self.left = 1.0
        self.rate = float("inf")
        self.at = time.monotonic()

    def refill(self) -> None:
        now = time.monotonic()
        grown = self.limit if self.rate == float("inf") else self.left + self.rate * (now - self.at)
        self.left = min(self.limit, grown)
        self.at = now

    @property
    def is_full(self) -> bool:
        self.refill()
        return self.left >= self.limit


class Buckets:
    """All rate limit buckets of one client."""

    def __init__(self) -> None:
        self._buckets: dict[tuple[str, str], Bucket] = {}
        self._names: dict[str, str] = {}
        """The bucket of each route that was called before."""

    def _find(self, name: str, owner: str) -> Bucket:
        key = (name, owner if name in OWN_BUCKETS else "")
        if key not in self._buckets:
            if len(self._buckets) >= MOST_BUCKETS:
                self._buckets = {other: bucket for other, bucket in self._buckets.items() if not bucket.is_full}
            self._buckets[key] = Bucket()
        return self._buckets[key]

    async def wait(self, route: str, owner: str) -> None:
        """Takes one request from the bucket of a route, and waits until the service would accept it."""
        name = self._names.get(route)
        if name is None:
            return
        bucket = self._find(name, owner)
        bucket.refill()
        bucket.left -= 1
        if bucket.left < 0:
            await asyncio.sleep(-bucket.left / bucket.rate)

    def update(self, route: str, owner: str, headers: Mapping[str, str]) -> None:
        """Notes what the headers of an answer say."""
        name = headers.get("X-RateLimit-Bucket")
        if name is None:
            return
        try:
            limit, left = float(headers["X-RateLimit-Limit"]), float(headers["X-RateLimit-Remaining"])
            full_after = float(headers["X-RateLimit-Reset-After"])
        except (KeyError, ValueError):
            return
        self._names[route] = name
        bucket = self._find(name, owner)
        bucket.refill()
        is_known = bucket.rate != float("inf")
        bucket.limit = limit
        if full_after > 0 and left < limit:
            bucket.rate = (limit - left) / full_after
        # Requests that are under way are not in the header yet, but already taken from the bucket.
        bucket.left = min(bucket.left, left) if is_known else left
