import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** Names that a Chromium goes by, the first found is taken. */
const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const run = promisify(execFile);
/** How long an installation may take, in milliseconds. */
const installMs = 10 * 60_000;

/** A Chromium of this machine: `CHROMIUM` names it, or it stands on the PATH. Null when there is none. */
export function findChromium(): string | null {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const folder of (process.env.PATH ?? '').split(delimiter))
    for (const name of names) {
      const path = join(folder, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // Not here.
      }
    }
  return null;
}

/**
 * A Chromium for the browser tests: this machine's, or Debian's, installed by apt where this process may do that. Null when neither is to be had: then
 * `report` was told in one line why, and how to get one.
 */
export async function bringChromium(report: (line: string) => void): Promise<string | null> {
  const found = findChromium();
  if (found) return found;
  const how = 'install Chromium, or set CHROMIUM to its path';
  if (process.getuid?.() !== 0) {
    report(`Chromium is not installed and only root can install it; skipping the browser tests (${how})`);
    return null;
  }
  report('installing Chromium for the browser tests');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args: string[]) => run('apt-get', ['-y', '-qq', ...args], { env, timeout: installMs, maxBuffer: 64 * 1024 * 1024 });
  try {
    // The lists may be old, or not there at all.
    await apt('update').catch(() => undefined);
    await apt('install', '--no-install-recommends', 'chromium');
  } catch (fault) {
    const reason = (fault as Error).message.trim().split('\n').at(-1);
    report(`Chromium could not be installed (${reason}); skipping the browser tests (${how})`);
    return null;
  }
  return findChromium();
}
