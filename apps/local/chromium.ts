import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { aptInstall, whyNoInstall } from './apt-install.ts';

/** Executable names of Chromium; the first one found is used. In the shell, which has no windows of its own, a page costs half the CPU time. */
const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

/** The path of a Chromium on this machine: `CHROMIUM` if it is set, else the first one on the PATH. Null if there is none. */
export function findChromium(): string | null {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const name of names)
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
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
 * Returns the path of a Chromium for the browser tests. If this machine has none and this process is root, it installs Debian's with apt: the shell, or where
 * there is no package of it, the complete browser. Null if that is not possible; `report` then receives one line with the reason and what to do.
 */
export async function ensureChromium(report: (line: string) => void): Promise<string | null> {
  const found = findChromium();
  if (found) return found;
  const skipped = (reason: string): string =>
    `Skipping the browser tests, because ${reason}. To run them, install Chromium or set CHROMIUM to its path.`;
  const refusal = whyNoInstall('Chromium');
  if (refusal) {
    report(skipped(refusal));
    return null;
  }
  report('installing Chromium for the browser tests');
  try {
    await aptInstall('chromium-headless-shell').catch(() => aptInstall('chromium'));
  } catch (error) {
    report(skipped(`Chromium could not be installed (${(error as Error).message})`));
    return null;
  }
  return findChromium();
}
