import { once } from 'node:events';
import { url as inspectorUrl } from 'node:inspector';
import { Worker } from 'node:worker_threads';
import type { Logger } from './log.ts';

/** How often the event loop shows that it runs, in milliseconds, and after how many missed beats the process is ended: after 30 s. */
const defaultBeatMs = 1_000;
const maxMissedBeats = 30;

// The program of the thread. It is text, because Node reads a file of a thread without the loader that runs TypeScript. It writes its line itself, because the
// log of the main thread cannot write. The kernel ignores a signal that process 1 of a container sends to itself, so such a process is made to abort.
const threadProgram = `
import { writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import { parentPort, workerData } from 'node:worker_threads';

const { beats, beatMs, maxMissedBeats, fields } = workerData;
let lastBeat = 0;
let missedBeats = 0;
setInterval(() => {
  const beat = Atomics.load(beats, 0);
  const hasDebugger = Atomics.load(beats, 1) === 1;
  missedBeats = beat === lastBeat && !hasDebugger ? missedBeats + 1 : 0;
  lastBeat = beat;
  if (missedBeats !== maxMissedBeats) return;
  const msg = 'the event loop was blocked for ' + (maxMissedBeats * beatMs) / 1000 + ' s; ending the process';
  if (fields) writeSync(1, JSON.stringify({ level: 60, time: new Date().toISOString(), ...fields, pid: process.pid, msg }) + '\\n');
  process.kill(process.pid, 'SIGKILL');
  const session = new Session();
  session.connectToMainThread();
  session.post('Runtime.evaluate', { expression: 'process.abort()' });
}, beatMs);
parentPort.postMessage('running');
`;

/**
 * Ends this process with a log line when its event loop has been blocked for 30 beats, because such a process answers nobody and ignores signals. A thread
 * counts the beats by its own timer, so time in which the whole process was stopped (SIGSTOP, a suspended machine) does not count. Time in which a debugger is
 * active does not count either. Resolves when the thread runs.
 */
export async function startWatchdog(log: Logger, beatMs: number = defaultBeatMs): Promise<void> {
  const beats = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const beat = (): void => {
    Atomics.add(beats, 0, 1);
    Atomics.store(beats, 1, inspectorUrl() === undefined ? 0 : 1);
  };
  beat();
  setInterval(beat, beatMs).unref();
  const fields = log.isLevelEnabled('fatal') ? log.bindings() : null;
  const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(threadProgram)}`), {
    workerData: { beats, beatMs, maxMissedBeats, fields },
    // It loads nothing that this process was told to load, such as an agent for tracing.
    execArgv: [],
    env: {},
  });
  thread.on('error', (error) => log.error({ err: error }, 'the watchdog of the event loop ended'));
  await once(thread, 'message').catch(() => undefined); // logged above
  thread.unref();
}
