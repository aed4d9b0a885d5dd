"""Runs the listeners of events: in order where order matters, and never more at once than allowed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

__all__ = ["Work"]

log = logging.getLogger("parlance")


class Work:
    """Jobs with the same key run one after another, in the order in which they were added. Other jobs run at the same time."""

    def __init__(self, limit: int) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._last: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def add(self, key: str | None, name: str, job: Callable[[], Awaitable[object]]) -> asyncio.Task[None]:
        """Adds a job, and returns its task; None is no key. Waits while as many jobs as allowed are not finished."""
        await self._slots.acquire()
        task = asyncio.create_task(self._run(self._last.get(key) if key else None, name, job), name=name)
        self._tasks.add(task)
        if key:
            self._last[key] = task
        task.add_done_callback(lambda _: self._finish(key, task))
        return task

    def _finish(self, key: str | None, task: asyncio.Task[None]) -> None:
        self._slots.release()
        self._tasks.discard(task)
        if key and self._last.get(key) is task:
            del self._last[key]

    @staticmethod
    async def _run(previous: asyncio.Task[None] | None, name: str, job: Callable[[], Awaitable[object]]) -> None:
        if previous is not None:
            await asyncio.wait([previous])
        try:
            await job()
        except Exception:
            log.exception("%s failed", name)

    async def finish(self, seconds: float) -> None:
        """Waits until all jobs are finished, and cancels those that take longer."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=seconds)
        for task in late:
            log.warning("%s did not end in time and was cancelled", task.get_name())
            task.cancel()
        if late:
            await asyncio.wait(late)
