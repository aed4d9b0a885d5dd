import { fileURLToPath } from 'node:url';
import { briefLine, openRoleLog } from './role-log.ts';
import { StartError, SupervisedProcess } from './supervised-process.ts';
import { print, UserFacingError } from './terminal.ts';

/** The processes of the product, in the order in which they are reported. They are stopped in reverse order, so the API stops before the workers do. */
const mains = {
  worker: '../../workers/main.js',
  gateway: '../gateway/main.js',
  api: '../api/main.js',
  ops: '../ops/main.js',
} as const;

/** The name of a role. */
export type RoleName = keyof typeof mains;

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
  /** Sends SIGINT, at which a gateway does not drain, then SIGKILL after 25 s; resolves when the process has ended. */
  stop(): Promise<void>;
  /** Stops it and starts it again; resolves when it is ready. */
  restart(): Promise<void>;
}

const stopMs = 25_000;
/** The exit code of a role whose settings are invalid. */
const invalidSettingsCode = 78;

/** Starts all roles at once and calls `onStarted` for each started one, in order. If one does not start, throws its error; the caller stops the others. */
export async function startRoles(env: NodeJS.ProcessEnv, folder: string, onStarted: (role: Role) => void): Promise<Role[]> {
  const names = Object.keys(mains) as RoleName[];
  const results = await Promise.allSettled(
    names.map((name) => startRole({ name, main: new URL(mains[name], import.meta.url), env, folder })),
  );
  const roles = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  roles.forEach(onStarted);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return roles;
}

/**
 * Starts a role and keeps it running: if it ends unexpectedly, it is restarted after a pause that doubles from 0.5 to 8 s. Resolves when it is ready; throws
 * `UserFacingError` with its last output if it never becomes ready. It ends with this process.
 */
export async function startRole({ name, main, env, folder }: RoleSpec): Promise<Role> {
  const log = openRoleLog(folder, name);
  const role = new SupervisedProcess({
    name,
    command: process.execPath,
    args: ['--enable-source-maps', fileURLToPath(main)],
    env,
    ready: 'message',
    startAttempts: 1,
    backoffMs: { first: 500, most: 8_000 },
    stopSignal: 'SIGINT',
    stopMs,
    onLine: (line) => {
      log.write(`${line}\n`);
      const shown = role.isUp && briefLine(name, line);
      if (shown) print(shown);
    },
    onRestart: (reason, pauseMs) =>
      print(`${name} stopped unexpectedly (${reason}). Restarting in ${pauseMs / 1000} s. Log: logs/${name}.log`),
    onKill: () => print(`${name} did not stop within ${stopMs / 1000} s and was killed.`),
  });
  const start = async (): Promise<void> => {
    try {
      await role.start();
    } catch (error) {
      throw error instanceof StartError ? explain(name, error) : error;
    }
  };
  await start();
  return {
    name,
    get pid() {
      return role.pid;
    },
    stop: () => role.stop(),
    restart: async () => {
      await role.stop();
      await start();
    },
  };
}

/** The failed start of a role, with its last output but without stack traces. */
function explain(name: string, { exitCode, lines }: StartError): UserFacingError {
  const shown = lines.flatMap((line) => briefLine(name, line) ?? []).filter((line) => !/^\[\w+\] +at /.test(line));
  const output = shown.slice(-12).map((line) => `  ${line.slice(0, 500)}`);
  // The settings are invalid. The role's own message explains it, so nothing is added.
  if (exitCode === invalidSettingsCode) return new UserFacingError(output.join('\n').replaceAll(/^ *\[\w+\] /gm, ''));
  return new UserFacingError(`${name} did not start:\n${output.join('\n') || '  (no output)'}`);
}
