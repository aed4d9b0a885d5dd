import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** How to run one process. It has 30 s to become ready. */
export interface ProcessSpec {
  /** Name in messages. */
  name: string;
  command: string;
  args: string[];
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** User and group to run as; only root may set them. */
  owner?: Owner;
  /** How to detect that the process is ready: a function that resolves if it is, called repeatedly, or `message` if the process sends `ready` over IPC. */
  ready: (() => Promise<void>) | 'message';
  /** How many times a start may run the process before it fails; default 10. */
  startAttempts?: number;
  /** Restart the process when it ends unexpectedly; default true. */
  supervise?: boolean;
  /** The pause before a restart: it doubles from `first` to `most`, and is `first` again after 30 s without an end; default 50 to 1,000 ms. */
  backoffMs?: { first: number; most: number };
  /** The signal that asks the process to stop gracefully; default `SIGTERM`. */
  stopSignal?: NodeJS.Signals;
  /** Time for a graceful stop before the process is killed; default 10,000 ms. */
  stopMs?: number;
  /** Called with each line of output. */
  onLine?: (line: string) => void;
  /** Called when the process ended unexpectedly, with the reason, such as `SIGKILL` or `code 1`. */
  onRestart?: (reason: string, pauseMs: number) => void;
  /** Called when the process is killed because it did not stop in time. */
  onKill?: () => void;
}

/** A user and group by number. */
export interface Owner {
  uid: number;
  gid: number;
}

/** A process did not become ready: it ended, or the time is over, or it was stopped. */
export class StartError extends Error {
  /** The exit code of the last attempt; null if it was killed. */
  readonly exitCode: number | null;
  /** The last lines that it printed. */
  readonly lines: readonly string[];

  constructor(name: string, exitCode: number | null, lines: readonly string[]) {
    super(`${name} did not start: ${lines.join('\n').trim().slice(-2000) || 'no output'}`);
    this.exitCode = exitCode;
    this.lines = lines;
  }
}

/** Only limits a hang: on a busy machine a start takes more than a minute. */
const readyMs = 120_000;
const probeMs = 15;
const steadyMs = 30_000;
const keptLines = 100;
const defaults = {
  startAttempts: 10,
  supervise: true,
  backoffMs: { first: 50, most: 1_000 },
  stopSignal: 'SIGTERM',
  stopMs: 10_000,
} satisfies Partial<ProcessSpec>;

// The watchdog reads a pipe from this process. The pipe closes when this process dies, however it dies; the watchdog then stops the child and ends.
const watchdog =
  'while read -r line; do :; done; kill -"$1" "$2" || exit; i=0; while [ $i -lt "$3" ]; do sleep 1; kill -0 "$2" || exit; i=$((i+1)); done; kill -9 "$2"';

/** A process that is restarted when it ends unexpectedly, and that ends with this process, even if this one is killed. */
export class SupervisedProcess {
  readonly #spec: ProcessSpec & Required<Pick<ProcessSpec, keyof typeof defaults>>;
  #state: 'stopped' | 'starting' | 'up' = 'stopped';
  #process: ChildProcess | undefined;
  #hasReported = false;
  #exitCode: number | null = null;
  #lines: string[] = [];
  #attemptsLeft = 0;
  #pauseMs = 0;
  #restartTimer: NodeJS.Timeout | undefined;

  constructor(spec: ProcessSpec) {
    this.#spec = { ...defaults, ...spec };
  }

  /** Its process id; undefined while it is down. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Whether it was started and not stopped. It may be down for a moment, until its restart. */
  get isUp(): boolean {
    return this.#state === 'up';
  }

  /** Starts the process if it is down; resolves when it is ready. If it does not become ready, stops it and rejects with `StartError`. */
  async start(): Promise<void> {
    clearTimeout(this.#restartTimer);
    this.#state = 'starting';
    this.#attemptsLeft = this.#spec.startAttempts;
    this.#pauseMs = this.#spec.backoffMs.first;
    if (!this.#process) this.#spawn();
    for (const deadlineMs = Date.now() + readyMs; Date.now() < deadlineMs; await sleep(probeMs)) {
      const isReady = await this.#isReady();
      if (!this.#isStarting()) break;
      if (!isReady) continue;
      this.#state = 'up';
      return;
    }
    if (this.#isStarting()) {
      this.#lines.push(`It was not ready within ${readyMs / 1000} seconds. If the machine was busy, start it again.`);
      this.#process?.kill('SIGKILL');
    }
    await this.stop();
    throw new StartError(this.#spec.name, this.#exitCode, this.#lines);
  }

  /** Asks the process to stop, kills it if it does not stop in time, and resolves when it has ended. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    clearTimeout(this.#restartTimer);
    const running = this.#process;
    if (!running) return;
    const { stopSignal, stopMs, onKill } = this.#spec;
    const closed = new Promise((done) => running.once('close', done));
    running.kill(stopSignal);
    const killTimer = setTimeout(() => {
      onKill?.();
      running.kill('SIGKILL');
    }, stopMs);
    await closed;
    clearTimeout(killTimer);
  }

  #isStarting(): boolean {
    return this.#state === 'starting';
  }

  async #isReady(): Promise<boolean> {
    const { ready } = this.#spec;
    const probed = this.#process;
    if (!probed) return false;
    if (ready === 'message') return this.#hasReported;
    // A process that was killed a moment ago may still respond, so a response counts only if the same process is still there.
    return ready().then(
      () => this.#process === probed,
      () => false,
    );
  }

  #spawn(): void {
    const { command, args, env, cwd, owner, ready } = this.#spec;
    const startedMs = Date.now();
    const running = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe', ...(ready === 'message' ? (['ipc'] as const) : [])],
      ...(env && { env }),
      ...(cwd && { cwd }),
      ...owner,
      // Its own process group, so that Ctrl-C reaches only this process, which stops the others in order.
      detached: true,
    });
    this.#process = running;
    this.#hasReported = false;
    this.#lines = [];
    const guard = running.pid === undefined ? undefined : this.#guard(running.pid);
    for (const input of [running.stdout, running.stderr])
      if (input) createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => this.#take(line));
    running.on('message', (message) => {
      if (message === 'ready') this.#hasReported = true;
    });
    running.on('error', (error) => this.#take(error.message));
    running.once('close', (code, signal) => {
      this.#process = undefined;
      guard?.kill('SIGKILL');
      this.#exitCode = code;
      this.#restartAfter(signal ?? `code ${code}`, Date.now() - startedMs);
    });
  }

  #take(line: string): void {
    if (this.#lines.push(line) > keptLines) this.#lines.shift();
    this.#spec.onLine?.(line);
  }

  /** Restarts the process after it has ended, unless it was stopped. The locks of a dead process are released with a delay, so a failed start is repeated. */
  #restartAfter(reason: string, ranMs: number): void {
    const { backoffMs, supervise, onRestart } = this.#spec;
    if (this.#isStarting() ? --this.#attemptsLeft <= 0 : !supervise) this.#state = 'stopped';
    if (this.#state === 'stopped') return;
    if (ranMs > steadyMs) this.#pauseMs = backoffMs.first;
    if (this.isUp) onRestart?.(reason, this.#pauseMs);
    this.#restartTimer = setTimeout(() => this.#spawn(), this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, backoffMs.most);
  }

  #guard(pid: number): ChildProcess {
    const { stopSignal, stopMs } = this.#spec;
    const args = ['-c', watchdog, 'watchdog', stopSignal.replace(/^SIG/, ''), String(pid), String(Math.ceil(stopMs / 1000))];
    const guard = spawn('/bin/sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    guard.on('error', () => undefined);
    guard.unref();
    (guard.stdin as { unref?: () => void } | null)?.unref?.();
    return guard;
  }
}

/** Starts a process; see {@link SupervisedProcess}. Rejects with `StartError` if it does not become ready. */
export async function startProcess(spec: ProcessSpec): Promise<SupervisedProcess> {
  const one = new SupervisedProcess(spec);
  await one.start();
  return one;
}
