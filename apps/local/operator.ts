import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { appKey, dataFolder, readRunningEnv } from './data-folder.ts';

/*
 * `npm run operator -- <command>`: the operators' command line. It uses the stores that the environment sets, else those of the running `npm start`.
 */
const args = process.argv.slice(2);
const folder = dataFolder();
const running = await readRunningEnv(folder);
// If both stores are set in the environment, no setting of the running instance applies, such as its REDIS_PREFIX, because its stores are different ones.
const hasStores = ['MONGODB_URL', 'REDIS_URL'].every((name) => process.env[name]);
const isHelp = args.length === 0 || args.some((one) => ['help', '--help', '-h'].includes(one));

if (running || hasStores || isHelp) {
  const key = existsSync(join(folder, 'app.key')) ? { APP_KEY: appKey(folder) } : {};
  const main = fileURLToPath(new URL('../operator/main.js', import.meta.url));
  const child = spawn(process.execPath, ['--enable-source-maps', main, ...args], {
    env: { ...(hasStores ? {} : running), ...key, ...process.env },
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => process.exit(code ?? 130));
} else {
  const message = `Parlance is not running from ${folder}. Start it with \`npm start\`, or set MONGODB_URL, REDIS_URL and APP_KEY.`;
  if (args.includes('--json')) process.stdout.write(`${JSON.stringify({ ok: false, error: { code: 'unavailable', message } })}\n`);
  else process.stderr.write(`${message}\n`);
  process.exitCode = 69;
}
