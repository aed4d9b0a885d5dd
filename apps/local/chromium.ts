import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** Executable names of Chromium; the first one found is used. */
const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const run = promisify(execFile);
/** How long an installation may take, in milliseconds. */
const installMs = 10 * 60_000;

/** The path of a Chromium on this machine: `CHROMIUM` if it is set, else the first one on the PATH. Null if there is none. */
export function findChromium(): string | null {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const folder of (process.env.PATH ?? '').split(delimiter))
    for (const name of names) {
      const path = join(folder, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // Not in this folder.
      }
    }
  return null;
}

/**
 * Returns the path of a Chromium for the browser tests. If this machine has none and this process is root, it installs Debian's with apt. Null if that is not
 * possible; `report` then receives one line with the reason and what to do.
 */
export async function ensureChromium(report: (line: string) => void): Promise<string | null> {
  const found = findChromium();
  if (found) return found;
  const skipped = (reason: string): string =>
    `Skipping the browser tests, because ${reason}. To run them, install Chromium or set CHROMIUM to its path.`;
  if (process.getuid?.() !== 0) {
    report(skipped('Chromium is not installed and only root can install it'));
    return null;
  }
  report('installing Chromium for the browser tests');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args: string[]) => run('apt-get', ['-y', '-qq', ...args], { env, timeout: installMs, maxBuffer: 64 * 1024 * 1024 });
  try {
    // The package lists may be outdated or missing.
    await apt('update').catch(() => undefined);
    await apt('install', '--no-install-recommends', 'chromium');
  } catch (error) {
    const reason = (error as Error).message.trim().split('\n').at(-1);
    report(skipped(`Chromium could not be installed (${reason})`));
    return null;
  }
  return findChromium();
}
