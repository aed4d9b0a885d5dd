import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'bullmq';

/** How long a worker on a cluster may take to close after its jobs have ended, in milliseconds. */
const closeTimeoutMs = 1_000;

/** Closes a worker once its jobs have ended. It also resolves while Redis is unavailable, when BullMQ's own `close` would wait forever. */
export async function closeWorker(worker: Worker, areJobsRunning: () => boolean): Promise<void> {
  const closed = worker.close();
  // `close` waits until the blocking connection has ended. That never happens while the connection waits for its next try to connect.
  const blocking = await worker.getBackend().blockingClient?.catch(() => undefined);
  if (blocking?.isCluster) {
    // BullMQ would reconnect because its blocking command failed, and then wait for an end that does not come either.
    blocking.connect = () => Promise.reject(new Error('the worker is closing'));
    // If a node was lost, the blocking command may never end. Stop waiting for it once no job runs.
    while (!(await Promise.race([closed.then(() => true), sleep(closeTimeoutMs, false)])) && areJobsRunning());
    return blocking.disconnect();
  }
  if (blocking?.status === 'reconnecting')
    await blocking.connect().then(
      () => blocking.disconnect(),
      () => undefined,
    );
  await closed;
}
