"""Runs the listeners of events: in order where order matters, and never more at once than allowed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

__all__ = ["Work"]

log = logging.getLogger("parlance")

SLOW_SECS = 60.0
"""A job that runs for longer than this is logged once."""
CANCEL_SECS = 2.0
"""A job has this long to end after it was cancelled."""
MOST_BYTES = 128 * 1024 * 1024
"""The most that all waiting events together may have."""


@dataclass(slots=True, eq=False)
class Job:
    """A call of a listener. ``done`` ends when it has ended, and is cancelled if it was cancelled by a stop."""

    lane: str
    name: str
    run: Callable[[], Awaitable[object]]
    size: int
    events: int
    at_once: bool
    done: asyncio.Future[None]


current: ContextVar[Job | None] = ContextVar("current", default=None)
"""The job that runs the code that asks."""


class Work:
    """
    The jobs of a lane run one after another, in the order in which they were added, or with ``at_once`` at the same time. Lanes run at the same time. A lane has
    room for the jobs of ``limit`` events. ``on_error`` gets the name of a job that failed, and the error; ``on_full`` gets a lane that has no room for more, and
    ``on_warning`` a text.
    """

    def __init__(
        self,
        limit: int,
        *,
        on_error: Callable[[str, Exception], None],
        on_full: Callable[[str], None],
        on_warning: Callable[[str], None],
    ) -> None:
        self._limit = limit
        self._on_warning = on_warning
        self._on_error = on_error
        self._on_full = on_full
        self._lanes: dict[str, deque[Job]] = {}
        """The jobs that wait or run."""
        self._events: Counter[str] = Counter()
        """How many events of each lane are unfinished."""
        self._full: set[str] = set()
        """The lanes that were full, and have not shrunk to a half since then."""
        self._size = 0
        self._tasks: dict[asyncio.Task[None], Job | None] = {}
        """The tasks, each with its running job."""
        self._stoppers: set[Job] = set()
        """The running jobs that wait for the stop, so that the stop must not wait for them."""
        self._is_over = False

    def has_room(self, lane: str, *, size: int = 0) -> bool:
        """Whether a lane has room for one more event, of ``size`` bytes. If not, ``on_full`` is called, once until half of the lane is free."""
        if self._events[lane] < self._limit and (size == 0 or self._size + size <= MOST_BYTES):
            return True
        if lane not in self._full:
            self._full.add(lane)
            self._on_full(lane)
        return False

    def add(
        self, lane: str, name: str, run: Callable[[], Awaitable[object]], *, size: int = 0, events: int = 1, at_once: bool = False
    ) -> asyncio.Future[None]:
        """Adds a job for an event of ``size`` bytes. Ask ``has_room`` before. ``events`` is 0 for all jobs of an event but its last."""
        job = Job(lane, name, run, size, events, at_once, asyncio.get_running_loop().create_future())
        self._size += size
        self._events[lane] += events
        jobs = self._lanes.setdefault(lane, deque())
        jobs.append(job)
        if at_once:
            self._start(self._run_job(job))
        elif len(jobs) == 1:
            self._start(self._run_lane(jobs))
        return job.done

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    async def _run_lane(self, jobs: deque[Job]) -> None:
        while jobs:
            job = jobs[0]
            await self._run_job(job)
            if job in self._stoppers:
                return  # another task runs the lane

    async def _run_job(self, job: Job) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks[task] = job
        slow = asyncio.get_running_loop().call_later(SLOW_SECS, self._report_slow, job)
        token = current.set(job)
        try:
            await job.run()
        except Exception as error:
            self._on_error(job.name, error)
        except asyncio.CancelledError:  # by a stop, or something that the job has awaited was cancelled
            if self._is_over:
                job.done.cancel()
                raise
            log.warning("%s was cancelled", job.name)
        finally:
            current.reset(token)
            slow.cancel()
            self._tasks[task] = None
            if job not in self._stoppers:
                self._remove(job)

    def _remove(self, job: Job) -> None:
        if not job.done.done():
            job.done.set_result(None)
        self._size -= job.size
        jobs = self._lanes[job.lane]
        jobs.remove(job)
        self._events[job.lane] -= job.events
        if self._events[job.lane] <= self._limit // 2:
            self._full.discard(job.lane)
        if not jobs:
            del self._lanes[job.lane], self._events[job.lane]

    def _report_slow(self, job: Job) -> None:
        unfinished = len(self._lanes.get(job.lane, (job,)))
        self._on_warning(f"{job.name} has been running for more than {SLOW_SECS:g} s; there are {unfinished} unfinished {job.lane}")

    # Stopping

    def release_caller(self) -> None:
        """If a job calls this, its event counts as handled, the others of its lane go on, and ``finish`` does not wait for it."""
        job = current.get()
        if job is None or job in self._stoppers or job not in self._tasks.values():
            return
        self._stoppers.add(job)
        jobs = self._lanes[job.lane]
        self._remove(job)
        if jobs and not job.at_once:
            self._start(self._run_lane(jobs))

    async def finish(self, seconds: float) -> None:
        """Waits until all jobs are finished, also those that are added meanwhile, and cancels those that take longer. Released ones go on."""
        end = time.monotonic() + seconds
        while (tasks := self._find_tasks()) and (left := end - time.monotonic()) > 0:
            await asyncio.wait(tasks, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        self._is_over = True
        late = self._find_tasks()
        for task in late:
            job = self._tasks[task]
            log.warning("%s did not end in time and was cancelled", job.name if job else "a listener")
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=CANCEL_SECS)
        for jobs in self._lanes.values():
            for job in jobs:
                job.done.cancel()

    async def finish_released(self, seconds: float) -> None:
        """Waits until the released jobs are finished too, and cancels those that take longer."""
        own = asyncio.current_task()
        tasks = [task for task, job in self._tasks.items() if job in self._stoppers and task is not own]
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=seconds)
        for task in late:
            task.cancel()

    def _find_tasks(self) -> list[asyncio.Task[None]]:
        return [task for task, job in self._tasks.items() if job not in self._stoppers]
