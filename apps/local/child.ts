import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';

/** How to start one process and detect that it is ready. */
export interface ChildSpec {
  /** Name in messages. */
  name: string;
  command: string;
  args: string[];
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** User and group to run as; only root may set them. */
  owner?: Owner;
  /** The signal that asks the process to stop gracefully; default `SIGTERM`. */
  stopSignal?: NodeJS.Signals;
  /** Time for a graceful stop before the process is killed; default 10,000 ms. */
  stopMs?: number;
  /** Resolves if the process is ready, else rejects or throws. Called repeatedly for at most `readyMs`. */
  ready: () => Promise<void>;
  /** Time to become ready; default 30,000 ms. */
  readyMs?: number;
  /** Restart the process when it ends unexpectedly; default true. */
  supervise?: boolean;
}

/** A user and group by number. */
export interface Owner {
  uid: number;
  gid: number;
}

/** A supervised process. Emits `up` when it becomes ready after a start or restart, and `down` when it has ended. */
export interface Child extends EventEmitter<{ up: []; down: [] }> {
  /** Its process id; absent while it is down. */
  readonly pid: number | undefined;
  /** Resolves when the process is ready. Starts it if it is down and no start is in progress. */
  restart(): Promise<void>;
  /** Asks the process to stop, kills it if it does not stop in time, and resolves when it has ended. */
  stop(): Promise<void>;
}

const probeMs = 15;
const quickEndMs = 1000;
const retryMs = 5000;
const maxAttempts = 10;

// The watchdog reads a pipe from this process. The pipe closes when this process dies, however it dies; the watchdog then stops the child and ends.
const watchdog =
  'while read -r line; do :; done; kill -"$1" "$2" || exit; i=0; while [ $i -lt "$3" ]; do sleep 1; kill -0 "$2" || exit; i=$((i+1)); done; kill -9 "$2"';

/** Starts a process, restarts it when it crashes, and ends it with this process, even if this one is killed. Rejects if it does not become ready. */
export async function startChild(spec: ChildSpec): Promise<Child> {
  const child = new SupervisedChild(spec);
  try {
    await child.restart();
  } catch (error) {
    await child.stop();
    throw error;
  }
  return child;
}

class SupervisedChild extends EventEmitter<{ up: []; down: [] }> implements Child {
  readonly #spec: ChildSpec;
  #process: ChildProcess | undefined;
  #guard: ChildProcess | undefined;
  #starting: Promise<void> | undefined;
  #stopping = false;
  #output = '';

  constructor(spec: ChildSpec) {
    super();
    this.#spec = spec;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  restart(): Promise<void> {
    this.#starting ??= this.#ensureUp().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const running = this.#process;
    if (running) {
      const ended = once(this, 'down');
      running.kill(this.#spec.stopSignal ?? 'SIGTERM');
      const hardKill = setTimeout(() => running.kill('SIGKILL'), this.#spec.stopMs ?? 10_000);
      await ended;
      clearTimeout(hardKill);
    }
    await this.#starting?.catch(() => undefined);
  }

  async #ensureUp(): Promise<void> {
    const deadline = Date.now() + (this.#spec.readyMs ?? 30_000);
    let pauseMs = 50;
    for (let attempt = 1; ; attempt++) {
      // A process that was killed a moment ago may still exist, so it counts as up only when it responds.
      while (this.#process && !this.#stopping && Date.now() < deadline) {
        if (await this.#isReady()) {
          this.emit('up');
          return;
        }
        await pause(probeMs);
      }
      if (this.#stopping) throw new Error(`${this.#spec.name} was stopped`);
      if (attempt > maxAttempts || Date.now() > deadline) {
        this.#process?.kill('SIGKILL');
        throw new Error(`${this.#spec.name} did not start: ${this.#output.trim() || 'no output'}`);
      }
      // The locks and shared memory of a dead process are released with a delay, so a failed start is retried.
      if (attempt > 1) await pause(pauseMs);
      if (attempt > 1) pauseMs = Math.min(pauseMs * 2, 1000);
      if (!this.#stopping) this.#spawn();
    }
  }

  async #isReady(): Promise<boolean> {
    const probed = this.#process;
    return this.#spec.ready().then(
      () => this.#process !== undefined && this.#process === probed,
      () => false,
    );
  }

  #restartIn(ms: number): void {
    const timer = setTimeout(() => {
      if (!this.#stopping) this.restart().catch(() => this.#restartIn(retryMs));
    }, ms);
    timer.unref();
  }

  #spawn(): void {
    const { command, args, env, cwd, owner, stopSignal, stopMs } = this.#spec;
    const started = Date.now();
    this.#output = '';
    const running = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(env && { env }),
      ...(cwd && { cwd }),
      ...owner,
      detached: true,
    });
    this.#process = running;
    for (const stream of [running.stdout, running.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString()).slice(-2000);
      });
    if (running.pid) this.#guard = guard(running.pid, stopSignal ?? 'SIGTERM', stopMs ?? 10_000);
    let ended = false;
    const onEnd = () => {
      if (ended) return;
      ended = true;
      this.#process = undefined;
      this.#guard?.kill('SIGKILL');
      this.#guard = undefined;
      this.emit('down');
      if (this.#stopping || this.#starting || this.#spec.supervise === false) return;
      this.#restartIn(Date.now() - started < quickEndMs ? quickEndMs : 0);
    };
    running.once('exit', onEnd);
    running.once('error', (error) => {
      this.#output = error.message;
      onEnd();
    });
  }
}

function guard(pid: number, signal: NodeJS.Signals, stopMs: number): ChildProcess {
  const args = ['-c', watchdog, 'watchdog', signal.replace(/^SIG/, ''), String(pid), String(Math.ceil(stopMs / 1000))];
  const process = spawn('/bin/sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  process.on('error', () => undefined);
  process.unref();
  (process.stdin as { unref?: () => void } | null)?.unref?.();
  return process;
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
