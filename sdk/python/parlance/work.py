"""Runs the listeners of events: in order where order matters, and never many more at once than allowed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

__all__ = ["Work"]

log = logging.getLogger("parlance")


class Work:
    """
    Jobs with the same key run one after another, in the order in which they were added. Other jobs run at the same time. ``on_error`` gets the name of a job that
    failed, and the error. Only a job that ``finish`` has cancelled ends as a cancelled task.
    """

    def __init__(self, limit: int, on_error: Callable[[str, Exception], None]) -> None:
        self._limit = limit
        self._on_error = on_error
        self._last: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Event()
        self._room.set()
        self._is_over = False

    async def wait_for_room(self) -> None:
        """Waits while as many jobs as allowed are not finished. Call it before the jobs of one event are added."""
        await self._room.wait()

    def add(self, key: str | None, name: str, job: Callable[[], Awaitable[object]]) -> asyncio.Task[None]:
        """Adds a job, and returns its task; None is no key."""
        task = asyncio.create_task(self._run(self._last.get(key) if key else None, name, job), name=name)
        self._tasks.add(task)
        if len(self._tasks) >= self._limit:
            self._room.clear()
        if key:
            self._last[key] = task
        task.add_done_callback(lambda _: self._finish(key, task))
        return task

    def _finish(self, key: str | None, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if len(self._tasks) < self._limit:
            self._room.set()
        if key and self._last.get(key) is task:
            del self._last[key]

    async def _run(self, previous: asyncio.Task[None] | None, name: str, job: Callable[[], Awaitable[object]]) -> None:
        if previous is not None:
            await asyncio.wait([previous])
        try:
            await job()
        except Exception as error:
            self._on_error(name, error)
        except asyncio.CancelledError:  # something that the job has awaited was cancelled
            if self._is_over:
                raise
            log.warning("%s was cancelled", name)

    async def finish(self, seconds: float) -> None:
        """Waits until all jobs are finished, also those that are added meanwhile, and cancels those that take longer."""
        end = time.monotonic() + seconds
        while self._tasks and (left := end - time.monotonic()) > 0:
            await asyncio.wait(self._tasks, timeout=left)
        late = set(self._tasks)
        self._is_over = True
        for task in late:
            log.warning("%s did not end in time and was cancelled", task.get_name())
            task.cancel()
        if late:
            await asyncio.wait(late)
