import { hash } from '@node-rs/argon2';
import { expect } from 'chai';
import { everyoneDefault } from '../../lib/base/permissions.ts';
import type { BotAuthorization, NewApplication } from '../../lib/contract/application.ts';
import type { Channel, ChannelInput, ThreadInput } from '../../lib/contract/channel.ts';
import type { DmChannel } from '../../lib/contract/dm.ts';
import type { Invite, InviteInput } from '../../lib/contract/member.ts';
import type { Message } from '../../lib/contract/message.ts';
import type { Role, RoleInput, Server } from '../../lib/contract/server.ts';
import { newToken, sessionLifeMs } from '../../lib/domain/access/credentials.ts';
import { hashOptions } from '../../lib/domain/accounts/passwords.ts';
import type { TestApi } from './api.ts';
import { type Caller, send } from './requests.ts';

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
/** An id that nothing has. */
export const unknownId = '1000000000000000000';

/** A word that is unique in this process. */
export const word = (start = 'w'): string => `${start}${++count}`;

/** The password of every person made here. */
export const password = 'correct horse battery';

let passwordHash: Promise<string> | undefined;

/** Makes a registered and logged-in person. It uses direct writes, because hashing the same password repeatedly would take most of the set-up time. */
export async function makePerson({ platform: { db, ids } }: Pick<TestApi, 'platform'>, username = word('person')): Promise<Caller> {
  passwordHash ??= hash(password, hashOptions);
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
export const authorize = (api: TestApi, manager: Caller, bot: Bot, serverId: string, permissions = 0): Promise<BotAuthorization> =>
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

/** Makes a thread of a channel, for its message `messageId` if that is given. */
export const makeThread = (api: TestApi, as: Caller, channelId: string, input: Partial<ThreadInput> = {}): Promise<Channel> =>
  send(api, 201, as, 'POST', `/api/channels/${channelId}/threads`, { name: word('thread'), ...input });

/** Opens the DM of two people, which may exist already. */
export async function openDm(api: TestApi, as: Caller, { id: recipientId }: { id: string }): Promise<DmChannel> {
  const { status, body } = await api.call<DmChannel>('POST', '/api/users/@me/channels', { as: as.as, body: { recipientId } });
  expect(status, JSON.stringify(body)).to.be.oneOf([200, 201]);
  return body;
}

/** Posts a message with this content. */
export const postMessage = (api: TestApi, as: Caller, channelId: string, content = 'x'): Promise<Message> =>
  send(api, 201, as, 'POST', `/api/channels/${channelId}/messages`, { content });

/** Makes a role; by default at position 1. */
export const makeRole = (api: TestApi, as: Caller, serverId: string, input: Partial<RoleInput> = {}): Promise<Role> =>
  send(api, 201, as, 'POST', `/api/servers/${serverId}/roles`, { name: word('role'), ...input });

/** Gives a member a role. */
export const giveRole = (api: TestApi, as: Caller, serverId: string, userId: string, roleId: string): Promise<void> =>
  send(api, 204, as, 'PUT', `/api/servers/${serverId}/members/${userId}/roles/${roleId}`);

/** Sets a channel's overwrite for a role or member. */
export const setOverwrite = (api: TestApi, as: Caller, channelId: string, id: string, allow: number, deny: number): Promise<Channel> =>
  send(api, 200, as, 'PUT', `/api/channels/${channelId}/overwrites/${id}`, { allow, deny });

/** Runs `act` while `@everyone` of a server has exactly these permissions. */
export async function withEveryone(
  api: TestApi,
  owner: Caller,
  serverId: string,
  permissions: number,
  act: () => Promise<unknown>,
): Promise<void> {
  const path = `/api/servers/${serverId}/roles/${serverId}`;
  await send(api, 200, owner, 'PATCH', path, { permissions });
  try {
    await act();
  } finally {
    await send(api, 200, owner, 'PATCH', path, { permissions: everyoneDefault });
  }
}

/** Makes an invite. */
export const makeInvite = (api: TestApi, as: Caller, serverId: string, input: InviteInput = {}): Promise<Invite> =>
  send(api, 201, as, 'POST', `/api/servers/${serverId}/invites`, input);

/** Sets an invite's expiry to the past. */
export const expireInvite = ({ platform: { db } }: TestApi, code: string): Promise<unknown> =>
  db.invites.updateOne({ _id: code }, { $set: { expiresAt: new Date(Date.now() - 1) } });

/** Stores a ban by a direct write: unlike the API, it removes nobody. */
export const storeBan = async ({ platform: { db } }: TestApi, serverId: string, userId: string, createdAt = new Date()): Promise<void> => {
  await db.bans.insertOne({ _id: `${serverId}:${userId}`, serverId, userId, reason: null, createdAt });
};

/** Makes the idempotent creates so far, or those that match `filter`, look as if their process had died before it stored its answer. */
export const loseAnswers = ({ platform: { db } }: TestApi, filter: { resourceId?: string } = {}): Promise<unknown> =>
  db.idempotency.updateMany(filter, { $set: { answer: null, claimedAt: new Date(0) } });

/** The stored number of members of a server. */
export const memberCountOf = async ({ platform: { db } }: TestApi, serverId: string): Promise<number | undefined> =>
  (await db.servers.findOne({ _id: serverId }))?.memberCount;

/** The invites by which `join` has joined people, by server. */
const joinCodes = new Map<string, string>();

/** Joins `joiner` to the server: with the invite of the last call if that still admits somebody, or a new one of `inviter`. */
export async function join(api: TestApi, inviter: Caller, serverId: string, joiner: Caller): Promise<Server> {
  const known = joinCodes.get(serverId);
  const { status, body } = known ? await api.call<Server>('POST', `/api/invites/${known}`, { as: joiner.as }) : { status: 404 };
  if (status === 200) return body as Server;
  const { code } = await makeInvite(api, inviter, serverId);
  joinCodes.set(serverId, code);
  return send(api, 200, joiner, 'POST', `/api/invites/${code}`);
}

/** Lets a member leave a server. */
export const leave = (api: TestApi, as: Caller, serverId: string): Promise<void> =>
  send(api, 204, as, 'DELETE', `/api/users/@me/servers/${serverId}`);

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

/** Makes two members who have the same role as their highest. */
export async function makePeers(api: TestApi, owner: Caller, serverId: string, permissions: number): Promise<[Caller, Caller]> {
  const [one, other] = [await makeMember(api, owner, serverId), await makeMember(api, owner, serverId)];
  const role = await makeRole(api, owner, serverId, { permissions });
  for (const { id } of [one, other]) await giveRole(api, owner, serverId, id, role.id);
  return [one, other];
}

/** Grants server types, as the platform team does. */
export async function grantTypes(api: TestApi, serverId: string, types: Server['types']): Promise<void> {
  await api.platform.accessVersions.runChange({ servers: [serverId] }, () =>
    api.platform.db.servers.updateOne({ _id: serverId }, { $set: { types } }),
  );
}
