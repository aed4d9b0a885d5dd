import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NewApplication } from '../../lib/contract/application.ts';
import type { Command } from '../../lib/contract/command.ts';
import type { Server } from '../../lib/contract/server.ts';
import { ApiFault, apiClient, type Call } from './api-client.ts';
import { writeSecret } from './data-folder.ts';
import { demoCommands } from './demo-bot.ts';

/** What the demo consists of, as `demo.json` in the data folder remembers it. */
export interface Demo {
  person: { id: string; username: string; password: string; token: string };
  server: { id: string; channelId: string };
  application: { id: string; botId: string; token: string };
  command: { id: string };
}

/** The permissions that the demo bot asks for: view, send, attach, react. */
const botPermissions = 0b1111;

/** Answers undefined where the API says that there is no such thing, or none for this caller. */
async function find<T>(ask: Promise<T>): Promise<T | undefined> {
  return ask.catch((fault: unknown) => {
    if (fault instanceof ApiFault && [401, 403, 404].includes(fault.status)) return undefined;
    throw fault;
  });
}

/**
 * Sees to it that the demo stands, through the public HTTP API alone: what `demo.json` remembers and the service still has is left as it is,
 * what is missing is made. Every part is noted as soon as it is made, so an interrupted run goes on where it stopped.
 */
export async function seed(baseUrl: string, folder: string): Promise<Demo> {
  const path = join(folder, 'demo.json');
  const known = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Partial<Demo>) : {};
  const note = (): void => writeSecret(path, `${JSON.stringify(known, null, 2)}\n`);
  const keep = <K extends keyof Demo>(key: K, value: Demo[K]): Demo[K] => {
    known[key] = value;
    note();
    return value;
  };

  const person = await ensurePerson(baseUrl, known, (value) => keep('person', value));
  const call = apiClient(baseUrl, `Bearer ${person.token}`);
  const server = (await livingServer(call, known)) ?? keep('server', await makeServer(call));
  const application = await ensureApplication(baseUrl, call, known, (value) => keep('application', value));
  const bot = apiClient(baseUrl, `Bot ${application.token}`);
  const isIn = await find(bot('GET', `/api/servers/${server.id}`));
  if (!isIn) await call('POST', `/api/applications/${application.id}/authorize`, { serverId: server.id, permissions: botPermissions });
  const command = await ensureCommand(bot, application.id);
  if (known.command?.id !== command.id) keep('command', command);
  return { person, server, application, command };
}

async function ensurePerson(
  baseUrl: string,
  known: Partial<Demo>,
  keep: (person: Demo['person']) => Demo['person'],
): Promise<Demo['person']> {
  const open = apiClient(baseUrl);
  const old = known.person;
  if (old && (await find(apiClient(baseUrl, `Bearer ${old.token}`)('GET', '/api/auth/me')))) return old;
  if (old) {
    const { username, password } = old;
    const login = await find(open<{ token: string }>('POST', '/api/auth/login', { username, password }));
    if (login) return keep({ ...old, token: login.token });
  }
  // Another database than the one the file speaks of: nothing of it is there.
  for (const key of Object.keys(known) as (keyof Demo)[]) delete known[key];
  const password = randomBytes(12).toString('base64url');
  const register = async (username: string): Promise<Demo['person']> => {
    const body = { username, password, displayName: 'Demo Person' };
    const { user, token } = await open<{ user: { id: string }; token: string }>('POST', '/api/auth/register', body);
    return { id: user.id, username, password, token };
  };
  const person = await register('demo').catch((fault: unknown) => {
    if (fault instanceof ApiFault && fault.code === 'username_taken') return register(`demo_${randomBytes(3).toString('hex')}`);
    throw fault;
  });
  return keep(person);
}

async function livingServer(call: Call, { server }: Partial<Demo>): Promise<Demo['server'] | undefined> {
  if (!server) return undefined;
  const found = await find(call<Server>('GET', `/api/servers/${server.id}`));
  return found?.channels.some((channel) => channel.id === server.channelId) ? server : undefined;
}

async function makeServer(call: Call): Promise<Demo['server']> {
  const server = await call<Server>('POST', '/api/servers', { name: 'Demo' });
  const channel = server.channels.find(({ kind }) => kind === 'text');
  if (!channel) throw new Error('the new server has no text channel');
  return { id: server.id, channelId: channel.id };
}

async function ensureApplication(
  baseUrl: string,
  call: Call,
  known: Partial<Demo>,
  keep: (application: Demo['application']) => Demo['application'],
): Promise<Demo['application']> {
  const old = known.application;
  if (old && (await find(apiClient(baseUrl, `Bot ${old.token}`)('GET', '/api/auth/me')))) return old;
  if (old && (await find(call('GET', `/api/applications/${old.id}`)))) {
    const { token } = await call<{ token: string }>('POST', `/api/applications/${old.id}/token`);
    return keep({ ...old, token });
  }
  const made = await call<NewApplication>('POST', '/api/applications', { name: 'Demo Bot', description: 'Answers /hello.' });
  return keep({ id: made.id, botId: made.bot.id, token: made.token });
}

async function ensureCommand(bot: Call, applicationId: string): Promise<Demo['command']> {
  const path = `/api/applications/${applicationId}/commands`;
  const isHello = ({ name }: Command): boolean => name === demoCommands[0]?.name;
  const found = (await bot<Command[]>('GET', path)).find(isHello) ?? (await bot<Command[]>('PUT', path, demoCommands)).find(isHello);
  if (!found) throw new Error('the demo command was not saved');
  return { id: found.id };
}
