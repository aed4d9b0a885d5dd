/** Work that is repeated. It runs again `intervalMs` after its last run has ended, so that it never overlaps itself. */
export interface RepeatedTask {
  name: string;
  intervalMs: number;
  run: () => Promise<unknown>;
}

/**
 * Runs each task at once, and then again and again, until closed. A task that takes long delays no other. `onError` gets the error of a run that failed; the
 * task runs again the next time. `close` waits for the current runs.
 */
export function startScheduler(
  tasks: readonly RepeatedTask[],
  onError: (name: string, error: unknown) => void,
): { close(): Promise<void> } {
  /** When each task that is not running is due, by the process' monotonic clock. */
  const dueAt = new Map(tasks.map((task) => [task, 0]));
  const running = new Set<Promise<void>>();
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  const runTask = async (task: RepeatedTask): Promise<void> => {
    dueAt.delete(task);
    try {
      await task.run();
    } catch (error) {
      onError(task.name, error);
    }
    dueAt.set(task, performance.now() + task.intervalMs);
  };
  const runDueTasks = (): void => {
    for (const [task, dueMs] of dueAt) {
      if (dueMs > performance.now()) continue;
      const run = runTask(task).then(() => {
        running.delete(run);
        setTimer();
      });
      running.add(run);
    }
    setTimer();
  };
  const setTimer = (): void => {
    clearTimeout(timer);
    if (!isClosed && dueAt.size > 0) timer = setTimeout(runDueTasks, Math.max(0, Math.min(...dueAt.values()) - performance.now()));
  };
  setTimer();
  return {
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      await Promise.all(running);
    },
  };
}
