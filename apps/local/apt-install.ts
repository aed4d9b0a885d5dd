import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** How long an installation may take, in milliseconds. */
const installMs = 10 * 60_000;

/** Why this process cannot install `what`, for a message; null if it can try. */
export const whyNoInstall = (what: string): string | null =>
  process.getuid?.() === 0 ? null : `${what} is not installed and only root can install it`;

/** Installs Debian packages with apt. Rejects with an error whose message is one line. */
export async function aptInstall(...packages: string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args: string[]) => run('apt-get', ['-y', '-qq', ...args], { env, timeout: installMs, maxBuffer: 64 * 1024 * 1024 });
  // The package lists may be outdated or missing.
  await apt('update').catch(() => undefined);
  await apt('install', '--no-install-recommends', ...packages).catch((error: Error) => {
    throw new Error(error.message.trim().split('\n').at(-1));
  });
}
