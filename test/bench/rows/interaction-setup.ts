import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBot, type Dispatch } from '../../harness/bot-client.ts';
import { makeCertificate } from '../../harness/certificate.ts';
import { type SeededServer, seedServer, setApplication } from '../../harness/seed.ts';
import { type Bench, type Helper, openSetting, type Setting, startHelper } from '../setting.ts';

/** When the person received which event of each interaction, by interaction id. */
export interface Screen {
  answered: Map<string, number>;
  expired: Map<string, number>;
  messages: Map<string, number>;
  /** When the last of these events arrived. */
  lastAt: number;
}

/** The product with applications that have endpoints, a connected person, and the bare process. The applications are used in turn. */
export interface InteractionSetup {
  setting: Setting;
  seeded: SeededServer;
  endpoints: Helper;
  bare: Helper;
  /** The origin of the endpoints, such as `https://127.0.0.1:8443`, and the path of each application's endpoint. */
  origin: string;
  paths: readonly string[];
  /** The URL that uses each application's command, each in a separate channel. */
  invokes: readonly string[];
  screen: Screen;
  close(): Promise<void>;
}

/** Unix milliseconds with fractions, comparable in all processes of the bench. */
export const now = (): number => performance.timeOrigin + performance.now();

/** Sets an application's endpoint and its only command; returns the URL that uses the command in a channel. */
export async function saveCommand(
  { platform, apiUrl }: { platform: Setting['platform']; apiUrl: string },
  bot: SeededServer['bots'][number],
  { endpointUrl, channelId, name }: { endpointUrl: string; channelId: string; name: string },
): Promise<string> {
  await setApplication(platform, bot, { interactionsEndpointUrl: endpointUrl });
  const saved = await fetch(`${apiUrl}/applications/${bot.applicationId}/commands`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json', Authorization: `Bot ${bot.token}` },
    body: JSON.stringify([{ name, description: 'Says hello.' }]),
  });
  if (!saved.ok) throw new Error(`commands answered ${saved.status}: ${await saved.text()}`);
  const [command] = (await saved.json()) as { id: string }[];
  return `${apiUrl}/channels/${channelId}/commands/${command?.id}/invoke`;
}

/** Records the events of interactions that the person receives. The content of an endpoint's message is the interaction's id. */
function recordEvent(screen: Screen, { t, d }: Dispatch): void {
  const at = now();
  if (t === 'MESSAGE_CREATE') screen.messages.set(String(d.content), at);
  else if (t === 'INTERACTION_UPDATE' && d.state === 'answered') screen.answered.set(String(d.id), at);
  else if (t === 'INTERACTION_UPDATE' && d.state === 'expired') screen.expired.set(String(d.id), at);
  else return;
  screen.lastAt = at;
}

/** Starts one process of each role, `applications` applications with an endpoint each, and a person with a gateway session. */
export async function openInteractionSetup(bench: Bench, applications: number): Promise<InteractionSetup> {
  const { key, cert } = await makeCertificate(['127.0.0.1']);
  const folder = await mkdtemp(join(tmpdir(), 'parlance-bench-ca-'));
  const authority = join(folder, 'ca.pem');
  await writeFile(authority, cert);
  const endpoints = await startHelper('endpoints', { TLS_KEY: key, TLS_CERT: cert });
  const host = `127.0.0.1:${endpoints.port}`;
  const origin = `https://${host}`;
  const setting = await openSetting(bench, { api: 1, gateway: 1, worker: 1 }, { NODE_EXTRA_CA_CERTS: authority, OUTBOUND_ALLOW: host });
  const bare = await startHelper('interactions', { ...setting.env, TLS_CERT: cert });
  const screen: Screen = { answered: new Map(), expired: new Map(), messages: new Map(), lastAt: 0 };
  const seeded = await seedServer(setting.platform, { bots: applications, channels: applications });
  const paths = seeded.bots.map((_, at) => `/${at}`);
  const api = { platform: setting.platform, apiUrl: `${setting.stack.apiUrl()}/api` };
  const invokes: string[] = [];
  for (const [at, bot] of seeded.bots.entries())
    invokes.push(
      await saveCommand(api, bot, { endpointUrl: origin + paths[at], channelId: seeded.channelIds[at] as string, name: `hello-${at}` }),
    );
  const person = connectBot({
    urlOf: () => setting.stack.gatewayUrl(),
    token: seeded.ownerToken,
    onEvent: (event) => recordEvent(screen, event),
  });
  await person.ready;
  return {
    setting,
    seeded,
    endpoints,
    bare,
    origin,
    paths,
    invokes,
    screen,
    close: async () => {
      await person.close();
      await Promise.all([endpoints.close(), bare.close()]);
      await setting.close();
      await rm(folder, { recursive: true });
    },
  };
}
