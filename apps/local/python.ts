import { spawnSync } from 'node:child_process';
import { aptInstall, whyNoInstall } from './apt-install.ts';

/** What the tests in Python need: the kit's only dependency, that of the program without a kit, the type checker, and pip with virtual environments. */
const packages = ['python3', 'python3-aiohttp', 'python3-websockets', 'mypy', 'python3-pip', 'python3-venv'];
const check = 'import sys, aiohttp, websockets, mypy, pip, venv, ensurepip; sys.exit(sys.version_info < (3, 11))';
/** Debian's Python, because packages from apt are only there. */
const debianPython = '/usr/bin/python3';

/** The path of a Python with everything that the tests of the Python kit need: `PYTHON` if it is set, else Debian's. Null if it lacks something. */
export function findPython(): string | null {
  const path = process.env.PYTHON ?? debianPython;
  return spawnSync(path, ['-c', check]).status === 0 ? path : null;
}

/**
 * Returns the path of a Python for the tests of the Python kit. If this machine has none with everything they need and this process is root, it installs
 * Debian's with apt. Null if that is not possible; `report` then receives one line with the reason and what to do.
 */
export async function ensurePython(report: (line: string) => void): Promise<string | null> {
  const found = findPython();
  if (found) return found;
  const skipped = (reason: string): string =>
    `Skipping the tests of the Python kit, because ${reason}. To run them, install ${packages.join(', ')}, or set PYTHON to a Python 3.11 with aiohttp and mypy.`;
  const refusal = whyNoInstall('Python with aiohttp and mypy');
  if (refusal) {
    report(skipped(refusal));
    return null;
  }
  report('installing Python for the tests of the Python kit');
  try {
    await aptInstall(...packages);
  } catch (error) {
    report(skipped(`Python could not be installed (${(error as Error).message})`));
    return null;
  }
  const installed = findPython();
  if (!installed) report(skipped('the installed Python is older than 3.11'));
  return installed;
}
