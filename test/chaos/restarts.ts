import { drainMs } from '../../apps/gateway/drain.ts';
import { root, runMigrate, type Stack } from '../harness/stack.ts';

/** When a gateway got SIGTERM and when it had ended, by the monotonic clock in milliseconds. */
export interface Drain {
  beganAt: number;
  endedAt: number;
}

const windowMs = 1_000;

/** The most reconnects within one second of a drain, as a multiple of their average over the time that a drain takes. 0 if there were none. */
export function computePeak(reconnectedAt: readonly number[], { beganAt, endedAt }: Drain): number {
  // The last clients connect a moment after the end.
  const times = reconnectedAt.filter((at) => at >= beganAt && at < endedAt + windowMs);
  const peak = Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + windowMs).length));
  return peak === 0 ? 0 : (peak * drainMs) / windowMs / times.length;
}

/**
 * Upgrades the stack to this version (docs/operations/upgrade.md#steps): migrates its database, and restarts every process with SIGTERM, one after another.
 * Adds the drain of each gateway to `drains`. Resolves with the number of restarts; rejects if a process does not end with exit code 0.
 */
export async function restartInTurn(
  { gateways, workers, apis, ops }: Stack,
  env: Record<string, string>,
  drains: Drain[],
  report: (line: string) => void,
): Promise<number> {
  await runMigrate(env);
  report('the database is migrated');
  const roles = [...gateways, ...workers, ...apis, ...ops];
  for (const role of roles) {
    const beganAt = performance.now();
    const code = await role.stop('SIGTERM');
    if (code !== 0) throw new Error(`${role.name} ended with ${code} at SIGTERM`);
    const endedAt = performance.now();
    if (role.name === 'gateway') drains.push({ beganAt, endedAt });
    await role.start(root);
    const [stopSecs, startSecs] = [endedAt - beganAt, performance.now() - endedAt].map((ms) => (ms / 1000).toFixed(1));
    report(`restart of ${role.name}: stopped in ${stopSecs} s, started in ${startSecs} s`);
  }
  return roles.length;
}
