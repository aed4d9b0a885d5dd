import { readArguments } from './command-line.ts';
import { startStores } from './stores.ts';

/*
 * `npm run stores`: runs only the database and Redis, until Ctrl-C. Prints the two settings that the other processes need.
 */
readArguments(
  `Usage: npm run stores

Runs only the database and Redis until Ctrl-C, and prints the two settings that the other processes need.
  DATA_DIR  the folder of the data; default: .data
`,
  { options: {} },
);
const report = (line: string) => process.stderr.write(`${line}\n`);

try {
  const stores = await startStores({ dataDir: process.env.DATA_DIR ?? '.data', durable: true, report });
  process.stdout.write(`MONGODB_URL=${stores.mongodbUrl}\nREDIS_URL=${stores.redisUrl}\n`);
  report('Press Ctrl-C to stop them.');
  const keepAlive = setInterval(() => undefined, 60_000);
  const stop = () => {
    clearInterval(keepAlive);
    stores.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop);
} catch (error) {
  report(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
