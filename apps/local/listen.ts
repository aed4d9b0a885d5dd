import { apiClient } from './api-client.ts';
import { readBaseUrl } from './base-url.ts';
import { readArguments } from './command-line.ts';
import { openGateway } from './gateway.ts';

/*
 * `npm run listen -- <token>`: connects to the gateway as a bot or a person and prints each event as one line. Ctrl-C ends it.
 */
const usage = `Usage: npm run listen -- <bot token or login token>

Prints each event that the bot or person receives as one line, until Ctrl-C.
  BASE_URL  the installation to connect to; default: the one that runs here
`;
const [token = ''] = readArguments(usage, { allowPositionals: true, options: {} }).positionals;
if (!token) {
  process.stderr.write(usage);
  process.exit(64);
}
const baseUrl = readBaseUrl();
const optionalEvents = ['MESSAGE_UPDATE', 'MESSAGE_DELETE'];

const printStatus = (line: string): void => {
  process.stderr.write(`# ${line}\n`);
};

const call = apiClient(baseUrl);
try {
  const { url } = await call<{ url: string }>('GET', '/api/gateway');
  printStatus(`connecting to ${url}; press Ctrl-C to stop`);
} catch (error) {
  printStatus(
    `${baseUrl} does not respond (${(error as Error).message}); check that \`npm start\` is running, or set BASE_URL to its address`,
  );
  process.exit(1);
}
const gateway = openGateway({
  call,
  token,
  events: optionalEvents,
  onEvent: (name, data) => process.stdout.write(`${new Date().toISOString().slice(11, 23)} ${name} ${JSON.stringify(data)}\n`),
  onState: printStatus,
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void gateway.stop({ keepSession: false, timeoutMs: 0 }));
await gateway.run().catch((error: Error) => {
  printStatus(error.message);
  process.exitCode = 1;
});
