import { type Answer, call } from '../requests.ts';
import type { Addresses, Caller, KnownServer, Oracle, Place } from './oracle.ts';

/** An account of the run. `applicationId` is null for a person. */
export interface Account extends Caller {
  applicationId: string | null;
  /** The command of a bot. */
  commandId?: string;
}

/** The servers and accounts of a run, and what random actions need. */
export interface World {
  addresses: Addresses;
  oracle: Oracle;
  owner: Account;
  accounts: Account[];
  servers: KnownServer[];
  invites: Map<string, string>;
  /** The announcement channel of each server, and the channels that follow it. */
  news: Map<string, { id: string; followers: Place[] }>;
  report: (line: string) => void;
}

/** Whether a request succeeded. */
export const isGood = ({ status }: { status: number }): boolean => status >= 200 && status < 300;

let nextNumber = 0;

/** A new name, or the content of a new message. */
export const nextName = (prefix: string): string => prefix + nextNumber++;

/** A random one of a list. */
export function pickFrom<T>({ addresses }: World, list: readonly T[]): T | undefined {
  return list[addresses.pick(list.length || 1)];
}

/** Sends a request to one of the API processes. Never rejects. */
export const send = <T = { id: string }>(world: World, caller: Account, method: string, path: string, body?: object): Promise<Answer<T>> =>
  call<T>(method, `${world.addresses.api()}/api${path}`, caller.as, body);

/** Runs a change of a server. `apply` changes what is known when it was answered with success. An unclear outcome is read again. */
export async function change<T>(
  world: World,
  server: KnownServer,
  what: string,
  request: () => Promise<Answer<T>>,
  apply: (body: T) => void,
): Promise<void> {
  world.oracle.changeBegan(server);
  const about = `server ${server.id}: ${what}`;
  world.report(`${about} …`);
  const answer = await request();
  if (isGood(answer)) apply(answer.body);
  else if (answer.status === 0 || answer.status >= 500) await readAgain(world, server, 3_000);
  world.oracle.changeEnded(server);
  world.report(`${about}: ${answer.status}`);
}

/** Reads what is stored after the outcome of a change was not clear: repeatedly, until two reads agree, because the change may still take effect. */
export async function readAgain(world: World, server: KnownServer, everyMs = 100): Promise<void> {
  for (let last = ''; ; ) {
    await new Promise((resolve) => setTimeout(resolve, everyMs));
    const found = await send<{ ownerId: string; channels: StoredChannel[]; roles: { id: string; permissions: number }[] }>(
      world,
      world.owner,
      'GET',
      `/servers/${server.id}`,
    );
    const listed = await send<{ user: { id: string }; roles: string[] }[]>(
      world,
      world.owner,
      'GET',
      `/servers/${server.id}/members?limit=100`,
    );
    if (found.status === 404) {
      server.channels.clear();
      server.members.clear();
      return;
    }
    if (!isGood(found) || !isGood(listed)) continue;
    server.ownerId = found.body.ownerId;
    const other = world.accounts.find(({ id }) => id === server.ownerId);
    if (other && other !== world.owner) {
      await send(world, other, 'PATCH', `/servers/${server.id}`, { ownerId: world.owner.id });
      continue;
    }
    const now = JSON.stringify([found.body, listed.body]);
    server.roles = new Map([...found.body.roles].reverse().map(({ id, permissions }) => [id, permissions]));
    server.channels = new Map(found.body.channels.map((one) => [one.id, toKnownChannel(one)]));
    server.members = new Map(listed.body.map(({ user, roles }) => [user.id, new Set(roles)]));
    for (const id of server.botRoles.keys()) if (!server.members.has(id)) server.botRoles.delete(id);
    if (now === last) return;
    last = now;
  }
}

/** A channel as the API returns it. */
export interface StoredChannel {
  id: string;
  kind: string;
  parentId: string | null;
  overwrites: { id: string; allow: number; deny: number }[];
}

export const toKnownChannel = ({ kind, parentId, overwrites }: StoredChannel) => ({
  overwrites: new Map(overwrites.map((one) => [one.id, one])),
  parentId: kind === 'thread' ? parentId : null,
});

/** The channels of a server that are not threads, in the order in which they were made. */
export const textChannels = ({ channels }: KnownServer): string[] =>
  [...channels].flatMap(([id, { parentId }]) => (parentId === null ? id : []));
