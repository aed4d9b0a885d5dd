import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { follow, openRoleLog } from './role-log.ts';
import { print, UserFacingError } from './terminal.ts';

/** A process of the product. */
export interface RoleSpec {
  name: string;
  /** Its compiled entry file. */
  main: URL;
  env: NodeJS.ProcessEnv;
  /** The data folder, which contains its log. */
  folder: string;
}

/** A supervised role. */
export interface Role {
  readonly name: string;
  readonly pid: number | undefined;
  /** Sends SIGTERM, then SIGKILL after 25 s; resolves when the process has ended. */
  stop(): Promise<void>;
  /** Stops it and starts it again; resolves when it is ready. */
  restart(): Promise<void>;
}

const readyMs = 30_000;
const stopMs = 25_000;
/** The exit code of a role whose settings are invalid. */
const invalidSettingsCode = 78;
const backoffMs = { first: 500, most: 8_000, steady: 30_000 };

/** A role sends `ready`, or `{ ready: true }`, to its parent once it serves. */
const isReady = (message: unknown): boolean =>
  message === 'ready' || (typeof message === 'object' && message !== null && (message as { ready?: unknown }).ready === true);

/**
 * Starts a role and keeps it running: if it ends unexpectedly, it is restarted after a pause that doubles from 0.5 to 8 s. Resolves when it is ready; throws
 * `UserFacingError` with its last output if it never becomes ready. It ends with this process, because its IPC channel closes.
 */
export async function startRole(spec: RoleSpec): Promise<Role> {
  const role = new SupervisedRole(spec);
  await role.start();
  return role;
}

class SupervisedRole implements Role {
  readonly #spec: RoleSpec;
  readonly #log;
  #child: ChildProcess | undefined;
  #lastOutput: string[] = [];
  #wanted = false;
  #pauseMs = backoffMs.first;
  #timer: NodeJS.Timeout | undefined;

  constructor(spec: RoleSpec) {
    this.#spec = spec;
    this.#log = openRoleLog(spec.folder, spec.name);
  }

  get name(): string {
    return this.#spec.name;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<void> {
    this.#wanted = false;
    const child = this.#spawn();
    const timer = setTimeout(() => child.kill('SIGKILL'), readyMs);
    const ready = await new Promise<boolean>((done) => {
      child.on('message', (message) => isReady(message) && done(true));
      child.once('close', () => done(false));
      child.once('error', () => done(false));
    });
    clearTimeout(timer);
    // The settings are invalid. The role's own message explains it, so nothing is added.
    if (child.exitCode === invalidSettingsCode) throw new UserFacingError(this.#lastOutput.join('\n').replaceAll(/^ *\[\w+\] /gm, ''));
    if (!ready) throw new UserFacingError(`${this.name} did not start:\n${this.#lastOutput.join('\n') || '  (no output)'}`);
    this.#wanted = true;
    this.#watch(child, Date.now());
  }

  async stop(): Promise<void> {
    this.#wanted = false;
    clearTimeout(this.#timer);
    const child = this.#child;
    if (!child) return;
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    const timer = setTimeout(() => {
      print(`${this.name} did not stop within ${stopMs / 1000} s and was killed.`);
      child.kill('SIGKILL');
    }, stopMs);
    await closed;
    clearTimeout(timer);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  #spawn(): ChildProcess {
    // Its own process group, so that Ctrl-C reaches only this process, which stops the roles in order.
    const child = spawn(process.execPath, ['--enable-source-maps', fileURLToPath(this.#spec.main)], {
      env: this.#spec.env,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
    });
    this.#child = child;
    this.#lastOutput = [];
    const show = (line: string): void => {
      if (this.#wanted) print(line);
      else if (!/^\[\w+\] +at /.test(line)) this.#lastOutput = [...this.#lastOutput, `  ${line.slice(0, 500)}`].slice(-12);
    };
    for (const stream of [child.stdout, child.stderr]) if (stream) follow(this.name, stream, this.#log, show);
    child.once('close', () => {
      if (this.#child === child) this.#child = undefined;
    });
    return child;
  }

  #watch(child: ChildProcess, startedMs: number): void {
    const onEnd = (code: number | null, signal: NodeJS.Signals | null): void => {
      if (!this.#wanted) return;
      if (Date.now() - startedMs > backoffMs.steady) this.#pauseMs = backoffMs.first;
      print(
        `${this.name} stopped unexpectedly (${signal ?? `code ${code}`}). Restarting in ${this.#pauseMs / 1000} s. Log: logs/${this.name}.log`,
      );
      this.#timer = setTimeout(() => this.#startAgain(), this.#pauseMs);
      this.#pauseMs = Math.min(this.#pauseMs * 2, backoffMs.most);
    };
    if (child.exitCode !== null || child.signalCode !== null) onEnd(child.exitCode, child.signalCode);
    else child.once('exit', onEnd);
  }

  #startAgain(): void {
    const child = this.#spawn();
    child.once('error', () => undefined);
    this.#watch(child, Date.now());
  }
}
