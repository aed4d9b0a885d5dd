import { readConfig } from '../../config/index.ts';
import { apiClient } from './api-client.ts';
import { connectGateway } from './gateway-client.ts';

/*
 * `npm run listen -- <token>`: connects to the gateway as a bot or a person and prints each event as one line. Ctrl-C ends it.
 */
const token = process.argv[2] ?? '';
if (!token || token.startsWith('-')) {
  process.stderr.write('usage: npm run listen -- <bot token or login token>   (BASE_URL names another server)\n');
  process.exit(64);
}
const stores = { MONGODB_URL: 'mongodb://localhost/x', REDIS_URL: 'redis://localhost', APP_KEY: Buffer.alloc(32).toString('base64') };
const { baseUrl } = readConfig({ ...stores, PORT: process.env.PORT, BASE_URL: process.env.BASE_URL });
const extra = ['MESSAGE_UPDATE', 'MESSAGE_DELETE'];

const note = (line: string): void => {
  process.stderr.write(`# ${line}\n`);
};

try {
  const { url } = await apiClient(baseUrl)<{ url: string }>('GET', '/api/gateway');
  note(`${url}. Press Ctrl-C to stop.`);
  const client = connectGateway({
    url,
    token,
    events: extra,
    onEvent: (name, data) => process.stdout.write(`${new Date().toISOString().slice(11, 23)} ${name} ${JSON.stringify(data)}\n`),
    onState: note,
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => client.close());
  client.ready.catch((fault: Error) => {
    if (fault.message !== 'closed') process.exitCode = 1;
  });
  await client.done;
} catch (fault) {
  note(`${baseUrl} does not respond (${(fault as Error).message}). Check that \`npm start\` is running on this port.`);
  process.exitCode = 1;
}
