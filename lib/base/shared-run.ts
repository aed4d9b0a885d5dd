/**
 * Returns a function that runs `run`, never twice at once. Each caller gets a run that begins after its call: callers that come while one is running share the
 * next one, which also begins if that one fails.
 */
export function shareRuns<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  let next: Promise<T> | null = null;
  const begin = (): Promise<T> => {
    next = null;
    running = run().finally(() => {
      running = null;
    });
    return running;
  };
  return () => {
    if (next) return next;
    if (!running) return begin();
    next = running.then(begin, begin);
    return next;
  };
}
