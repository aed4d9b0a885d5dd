import type { NewApplication } from '../../lib/contract/application.ts';
import type { Command } from '../../lib/contract/command.ts';
import type { Server } from '../../lib/contract/server.ts';
import { apiClient, type Call, withRetries } from './api-client.ts';
import { demoCommands } from './demo-commands.ts';
import { type Demo, type Notes, openNotes } from './demo-notes.ts';
import { makeParts, withoutPartsOf } from './seed-parts.ts';
import { callsOf, ensurePerson, find } from './seed-people.ts';

/** The permissions that the demo bot asks for: view, send, attach, react. */
const botPermissions = 0b1111;

/** An Idempotency-Key for creating `what`. It is the same in all runs until the old object is gone and a new one replaces it. */
const keyAfter = (what: string, old: { id: string } | undefined): { 'Idempotency-Key': string } => ({
  'Idempotency-Key': `demo-${what}-${old?.id ?? 'first'}`,
});

/**
 * Ensures that the demo exists, through the public HTTP API only. The person, the server, and the bot in it with its command are created again if they are
 * missing; every other part is created once and not again after somebody deletes it. Each is stored in `demo.json` as soon as it is created, so an interrupted
 * run continues where it stopped and creates nothing twice.
 */
export async function seed(baseUrl: string, folder: string): Promise<Demo> {
  const notes = openNotes(folder);
  const person = await ensurePerson(baseUrl, notes);
  const call = callsOf(baseUrl, person);
  const server = await ensureServer(call, notes);
  const application = await ensureApplication(baseUrl, call, notes);
  const bot = withRetries(apiClient(baseUrl, `Bot ${application.token}`));
  const isIn = await find(bot('GET', `/api/servers/${server.id}`));
  if (!isIn) await call('POST', `/api/applications/${application.id}/authorize`, { serverId: server.id, permissions: botPermissions });
  const command = await ensureCommand(bot, application.id, notes);
  const { guest, made } = await makeParts(baseUrl, notes, { person, server, application });
  return { person, server, application, command, guest, made };
}

async function ensureServer(call: Call, notes: Notes): Promise<Demo['server']> {
  const old = notes.known.server;
  const found = old && (await find(call<Server>('GET', `/api/servers/${old.id}`)));
  if (old && found?.channels.some((channel) => channel.id === old.channelId)) return old;
  const made = await call<Server>('POST', '/api/servers', { name: 'Demo' }, keyAfter('server', old));
  const channel = made.channels.find(({ kind }) => kind === 'text');
  if (!channel) throw new Error('the new server has no text channel');
  const server = { id: made.id, channelId: channel.id };
  notes.keep({ server, made: withoutPartsOf('server', notes.known.made) });
  return server;
}

async function ensureApplication(baseUrl: string, call: Call, notes: Notes): Promise<Demo['application']> {
  const old = notes.known.application;
  if (old && (await find(apiClient(baseUrl, `Bot ${old.token}`)('GET', '/api/auth/me')))) return old;
  if (old && (await find(call('GET', `/api/applications/${old.id}`)))) {
    const { token } = await call<{ token: string }>('POST', `/api/applications/${old.id}/token`);
    notes.keep({ application: { ...old, token } });
    return { ...old, token };
  }
  const input = { name: 'Demo Bot', description: 'Answers /hello and shows what bots can do.' };
  const { id, bot, token } = await call<NewApplication>('POST', '/api/applications', input, keyAfter('application', old));
  const application = { id, botId: bot.id, token };
  notes.keep({ application, made: withoutPartsOf('application', notes.known.made) });
  return application;
}

/** Registers all demo commands once, and `/hello` whenever it is missing. Keeps commands that somebody added. */
async function ensureCommand(bot: Call, applicationId: string, notes: Notes): Promise<Demo['command']> {
  const { made = {}, command } = notes.known;
  const path = `/api/applications/${applicationId}/commands`;
  const isHello = ({ name }: { name: string }): boolean => name === 'hello';
  const old = await bot<Command[]>('GET', path);
  let hello = old.find(isHello);
  if (!hello || !('commands' in made)) {
    const wanted = 'commands' in made ? demoCommands.filter(isHello) : demoCommands;
    const others = old.filter(({ name, kind }) => kind === 'prefix' || !wanted.some((one) => one.name === name));
    hello = (await bot<Command[]>('PUT', path, [...others, ...wanted])).find(isHello);
    if (!hello) throw new Error('the demo command was not saved');
    notes.keep({ made: { ...made, commands: '' } });
  }
  if (command?.id !== hello.id) notes.keep({ command: { id: hello.id } });
  return { id: hello.id };
}
