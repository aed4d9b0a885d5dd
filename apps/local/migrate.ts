import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { UserFacingError } from './terminal.ts';

const main = fileURLToPath(new URL('../operator/main.js', import.meta.url));
/** Progress is shown only after this many milliseconds. */
const quietMs = 5_000;

/** Runs `operator migrate` with `env` to its end, and reports its progress. Throws `UserFacingError` if it fails. */
export async function migrateDatabase(env: NodeJS.ProcessEnv, report: (line: string) => void): Promise<void> {
  const startMs = Date.now();
  const child = spawn(process.execPath, ['--enable-source-maps', main, 'migrate'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let lastLine = 'no output';
  createInterface({ input: child.stderr, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
    lastLine = line;
    if (Date.now() - startMs > quietMs) report(`migrating the database: ${line}`);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new UserFacingError(`The database could not be migrated: ${lastLine}`);
}
