import { apiClient } from './api-client.ts';
import { readBaseUrl } from './base-url.ts';
import { readArguments } from './command-line.ts';
import { ClientClosed, connectGateway } from './gateway-client.ts';

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

try {
  const { url } = await apiClient(baseUrl)<{ url: string }>('GET', '/api/gateway');
  printStatus(`connecting to ${url}; press Ctrl-C to stop`);
  const client = connectGateway({
    url,
    token,
    events: optionalEvents,
    onEvent: (name, data) => process.stdout.write(`${new Date().toISOString().slice(11, 23)} ${name} ${JSON.stringify(data)}\n`),
    onState: printStatus,
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => client.close());
  client.ready.catch((error: unknown) => {
    if (!(error instanceof ClientClosed)) process.exitCode = 1;
  });
  await client.done;
} catch (error) {
  printStatus(
    `${baseUrl} does not respond (${(error as Error).message}); check that \`npm start\` is running, or set BASE_URL to its address`,
  );
  process.exitCode = 1;
}
