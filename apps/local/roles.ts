import { type Role, startRole } from './supervise.ts';

/** The processes of the product, in the order in which they are reported. They are stopped in reverse order, so the API stops before the workers do. */
const mains = {
  worker: '../../workers/main.js',
  gateway: '../gateway/main.js',
  api: '../api/main.js',
  ops: '../ops/main.js',
} as const;

/** The name of a role. */
export type RoleName = keyof typeof mains;

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
