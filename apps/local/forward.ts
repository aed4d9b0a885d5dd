import type { Interaction } from '../../lib/contract/interaction.ts';
import type { Me } from '../../lib/contract/user.ts';
import { ApiError, apiClient } from './api-client.ts';
import { readBaseUrl } from './base-url.ts';
import { readArguments } from './command-line.ts';
import { localEndpoint } from './forward-interaction.ts';
import { openGateway } from './gateway.ts';
import { readSecret } from './secret-input.ts';
import { UserFacingError } from './terminal.ts';

/*
 * `npm run forward -- <application id>`: posts the interactions of an application to an endpoint on this machine, which needs no public URL. It connects to the
 * gateway as the application's bot. Ctrl-C ends it.
 */
const usage = `Usage: npm run forward -- <application id> [--to http://localhost:3000/] [--url <Parlance>]

Posts the interactions of an application to an endpoint on this machine, until Ctrl-C.
PARLANCE_TOKEN is the bot's token and SIGNING_SECRET the application's signing secret. What is missing is asked for.
`;

interface Options {
  applicationId: string;
  to: string;
  baseUrl: string;
}

function readOptions(): Options | null {
  const options = { to: { type: 'string', default: 'http://localhost:3000/' }, url: { type: 'string' } } as const;
  const { values, positionals } = readArguments(usage, { allowPositionals: true, options });
  const [applicationId = ''] = positionals;
  const baseUrl = (values.url ?? readBaseUrl()).replace(/\/$/, '');
  const isComplete = /^\d+$/.test(applicationId) && positionals.length === 1 && [values.to, baseUrl].every((url) => URL.canParse(url));
  return isComplete ? { applicationId, to: new URL(values.to).href, baseUrl } : null;
}

const printStatus = (line: string): void => void process.stderr.write(`# ${line}\n`);

/** Refuses a token that is not valid, or that is of another application. */
async function requireBotOf(applicationId: string, baseUrl: string, token: string): Promise<void> {
  const me = await apiClient(baseUrl, `Bot ${token}`)<Me>('GET', '/api/auth/me').catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 401)
      throw new UserFacingError(`PARLANCE_TOKEN is not a valid bot token. Reset the token at ${baseUrl}/developers/${applicationId}/bot.`);
    throw new UserFacingError(`${baseUrl} does not respond (${(error as Error).message}). Give the address of Parlance with --url.`);
  });
  if (me.applicationId !== applicationId)
    throw new UserFacingError(`PARLANCE_TOKEN belongs to the application ${me.applicationId}, not to ${applicationId}.`);
}

async function run({ applicationId, to, baseUrl }: Options): Promise<void> {
  const portal = `${baseUrl}/developers/${applicationId}`;
  const token = await readSecret('PARLANCE_TOKEN', `the bot's token from ${portal}/bot`);
  const secret = await readSecret('SIGNING_SECRET', `the signing secret from ${portal}`);
  await requireBotOf(applicationId, baseUrl, token);
  const endpoint = localEndpoint(to, secret, apiClient(baseUrl));
  const failure = await endpoint.ping();
  if (failure) throw new UserFacingError(`The ping to ${to} failed at the step ${failure}`);
  const gateway = openGateway({
    call: apiClient(baseUrl),
    token,
    onEvent: (name, data) => {
      if (name === 'READY')
        printStatus(`forwarding to ${to}. If no command arrives here, remove the Interactions Endpoint URL at ${portal}. Ctrl-C stops.`);
      if (name !== 'INTERACTION_CREATE') return;
      void endpoint
        .forward(data as Interaction)
        .then((line) => process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`));
    },
    onState: printStatus,
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void gateway.stop({ keepSession: false, timeoutMs: 0 }));
  await gateway.run();
}

const options = readOptions();
if (!options) {
  process.stderr.write(usage);
  process.exit(64);
}
await run(options).catch((error: unknown) => {
  if (!(error instanceof UserFacingError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
