import { hash } from '@node-rs/argon2';
import { expect } from 'chai';
import type { Authorized, NewApplication } from '../../lib/contract/application.ts';
import type { Channel, ChannelInput } from '../../lib/contract/channel.ts';
import type { Invite, InviteInput, Role, RoleInput, Server } from '../../lib/contract/server.ts';
import { newToken, sessionLifeMs } from '../../lib/domain/accounts/credentials.ts';
import { hashing } from '../../lib/domain/accounts/passwords.ts';
import type { TestApi } from './api.ts';

/** A user of the API: pass `as` to `api.call(…, { as })`. */
export interface Caller {
  id: string;
  username: string;
  token: string;
  as: string;
}

/** A bot with its application. */
export interface Bot extends Caller {
  applicationId: string;
  signingSecret: string;
}

/** A server with its first text channel. */
export interface Place extends Server {
  general: string;
}

let count = 0;
/** A word that is unique in this process. */
export const word = (start = 'w'): string => `${start}${++count}`;

/** The password of every person made here. */
export const password = 'correct horse battery';

/** Sends a request and expects `status`; returns the body. */
export async function send<T>(api: TestApi, status: number, as: Caller | null, method: string, path: string, body?: unknown): Promise<T> {
  const answer = await api.call<T>(method, path, { as: as?.as, body });
  expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).to.equal(status);
  return answer.body;
}

/** Sends a request and expects the error `status` with `code`; returns the error body. */
export async function refused(
  api: TestApi,
  [status, code]: readonly [status: number, code: string],
  as: Caller | null,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ code: string; message: string; missing?: string[]; errors?: { path: string; message: string }[]; retryAfter?: number }> {
  const error = await send<Awaited<ReturnType<typeof refused>>>(api, status, as, method, path, body);
  expect(error.code, `${method} ${path} ${JSON.stringify(error)}`).to.equal(code);
  return error;
}

/** The number of responses with each status. */
export function tally(answers: readonly { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

let passwordHash: Promise<string> | undefined;

/** Makes a registered and logged-in person. It uses direct writes, because hashing the same password repeatedly would take most of the set-up time. */
export async function makePerson({ platform: { db, ids } }: Pick<TestApi, 'platform'>, username = word('person')): Promise<Caller> {
  passwordHash ??= hash(password, hashing);
  const [id, session] = [ids.next(), ids.next()];
  const { token, hash: tokenHash } = newToken(session);
  const createdAt = new Date();
  const account = { _id: id, kind: 'person' as const, username, displayName: username, passwordHash: await passwordHash, createdAt };
  const none = { avatarUrl: null, tag: null, applicationId: null, status: 'online' as const, customStatus: null };
  await Promise.all([
    db.accounts.insertMany([{ ...account, ...none }]),
    db.tokens.insertMany([
      { _id: session, accountId: id, kind: 'session', hash: tokenHash, createdAt, expiresAt: new Date(Date.now() + sessionLifeMs) },
    ]),
  ]);
  return { id, username, token, as: `Bearer ${token}` };
}

/** Makes `many` people, ten at a time. */
export async function makePeople(api: TestApi, many: number): Promise<Caller[]> {
  const made: Caller[] = [];
  while (made.length < many)
    made.push(...(await Promise.all(Array.from({ length: Math.min(10, many - made.length) }, () => makePerson(api)))));
  return made;
}

/** Makes a server; `general` is its text channel. */
export async function makeServer(api: TestApi, owner: Caller, name = word('server')): Promise<Place> {
  const server = await send<Server>(api, 201, owner, 'POST', '/api/servers', { name });
  return { ...server, general: server.channels[0]?.id as string };
}

/** Makes an application and its bot; `isPublic` allows others to add it. */
export async function makeApplication(api: TestApi, owner: Caller, name = word('bot'), isPublic = false): Promise<Bot> {
  const made = await send<NewApplication>(api, 201, owner, 'POST', '/api/applications', { name });
  if (isPublic) await send(api, 200, owner, 'PATCH', `/api/applications/${made.id}`, { public: true });
  const { id: applicationId, bot, token, signingSecret } = made;
  return { id: bot.id, username: bot.username, token, as: `Bot ${token}`, applicationId, signingSecret };
}

/** Adds a bot to a server; returns the id and permissions of its role. */
export const authorize = (api: TestApi, manager: Caller, bot: Bot, serverId: string, permissions = 0): Promise<Authorized> =>
  send(api, 201, manager, 'POST', `/api/applications/${bot.applicationId}/authorize`, { serverId, permissions });

/** Makes an application whose bot is in the owner's server, with these permissions in its role. */
export async function makeBot(api: TestApi, owner: Caller, serverId: string, permissions = 0): Promise<Bot & { roleId: string }> {
  const bot = await makeApplication(api, owner);
  const { roleId } = await authorize(api, owner, bot, serverId, permissions);
  return { ...bot, roleId };
}

/** Makes a channel; by default a text channel. */
export const makeChannel = (api: TestApi, as: Caller, serverId: string, input: Partial<ChannelInput> = {}): Promise<Channel> =>
  send(api, 201, as, 'POST', `/api/servers/${serverId}/channels`, { name: word('channel'), kind: 'text', ...input });

/** Makes a role; by default at position 1. */
export const makeRole = (api: TestApi, as: Caller, serverId: string, input: Partial<RoleInput> = {}): Promise<Role> =>
  send(api, 201, as, 'POST', `/api/servers/${serverId}/roles`, { name: word('role'), ...input });

/** Gives a member a role. */
export const giveRole = (api: TestApi, as: Caller, serverId: string, userId: string, roleId: string): Promise<void> =>
  send(api, 204, as, 'PUT', `/api/servers/${serverId}/members/${userId}/roles/${roleId}`);

/** Sets a channel's overwrite for a role or member. */
export const setOverwrite = (api: TestApi, as: Caller, channelId: string, id: string, allow: number, deny: number): Promise<Channel> =>
  send(api, 200, as, 'PUT', `/api/channels/${channelId}/overwrites/${id}`, { allow, deny });

/** Makes an invite. */
export const makeInvite = (api: TestApi, as: Caller, serverId: string, input: InviteInput = {}): Promise<Invite> =>
  send(api, 201, as, 'POST', `/api/servers/${serverId}/invites`, input);

/** Joins `joiner` to the server with a new invite of `inviter`. */
export async function join(api: TestApi, inviter: Caller, serverId: string, joiner: Caller): Promise<Server> {
  const { code } = await makeInvite(api, inviter, serverId);
  return send(api, 200, joiner, 'POST', `/api/invites/${code}`);
}

/** Makes a person who is a member of the server; `permissions` are granted by a separate role. */
export async function makeMember(api: TestApi, owner: Caller, serverId: string, permissions?: number): Promise<Caller> {
  const person = await makePerson(api);
  await join(api, owner, serverId, person);
  if (permissions !== undefined) {
    const role = await makeRole(api, owner, serverId, { permissions });
    await giveRole(api, owner, serverId, person.id, role.id);
  }
  return person;
}

/** Grants server types, as the platform team does. */
export async function grantTypes(api: TestApi, serverId: string, types: Server['types']): Promise<void> {
  await api.platform.versions.changing({ servers: [serverId] }, () =>
    api.platform.db.servers.updateOne({ _id: serverId }, { $set: { types } }),
  );
}
