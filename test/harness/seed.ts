import { toParts } from '../../lib/base/parts.ts';
import { foldSearch } from '../../lib/base/text.ts';
import { newToken } from '../../lib/domain/access/credentials.ts';
import { changeBot } from '../../lib/domain/applications/bots.ts';
import { insertMissing } from '../../lib/store/mongo/insert.ts';
import { toMembership } from '../../lib/store/mongo/memberships.ts';
import type { ApplicationDoc } from '../../lib/store/mongo/models/account.ts';
import type { MemberDoc } from '../../lib/store/mongo/models/server.ts';
import type { Platform } from '../../lib/store/platform.ts';
import { createSecret, seal } from '../../lib/store/seal.ts';
import type { Bot } from './factories.ts';
import type { Caller } from './requests.ts';

/** A server with people, bots and text channels, made by direct writes: for benches and fault runs that need many of them. */
export interface SeededServer {
  serverId: string;
  ownerId: string;
  /** The owner's session token. */
  ownerToken: string;
  channelIds: string[];
  bots: { id: string; applicationId: string; token: string }[];
  people: { id: string; token: string }[];
}

/** The owner as a user of the API. */
export const ownerOf = ({ ownerId: id, ownerToken: token }: SeededServer): Caller => ({
  id,
  username: `person_${id}`,
  token,
  as: `Bearer ${token}`,
});

/** A bot as a user of the API, without its signing secret. */
export function botOf({ bots }: SeededServer, at = 0): Bot {
  const bot = bots[at];
  if (!bot) throw new Error(`the server has no bot ${at}`);
  return { ...bot, username: `bot_${bot.id}`, as: `Bot ${bot.token}`, signingSecret: '' };
}

/** An account's document. */
export const accountOf = (_id: string, kind: 'bot' | 'person', applicationId: string | null) => ({
  _id,
  kind,
  username: `${kind}_${_id}`,
  displayName: kind,
  avatarUrl: null,
  tag: null,
  passwordHash: null,
  applicationId,
  status: 'online' as const,
  customStatus: null,
  createdAt: new Date(),
});

function credentialOf(_id: string, accountId: string, kind: 'bot' | 'session') {
  const { token, hash } = newToken(_id);
  return { token, doc: { _id, accountId, kind, hash, createdAt: new Date(), expiresAt: null } };
}

/** A server's document. Everyone may view its channels and post in them. */
export const serverOf = (_id: string, ownerId: string, channels: number, memberCount: number) => ({
  _id,
  name: 'world',
  iconUrl: null,
  ownerId,
  roles: [{ id: _id, name: '@everyone', color: null, hoist: false, permissions: 15, botId: null }],
  rolesVersion: 0,
  invitesPaused: false,
  types: [],
  community: false,
  listed: false,
  nextPosition: channels,
  memberCount,
  createdAt: new Date(),
});

/** A text channel's document. */
export const channelOf = (_id: string, serverId: string, position: number) => ({
  _id,
  serverId,
  kind: 'text' as const,
  name: `channel-${position}`,
  position,
  parentId: null,
  topic: null,
  slowmodeSecs: 0,
  contentMode: 'default' as const,
  autoArchiveMinutes: null,
  archived: false,
  overwrites: [],
  createdAt: new Date(),
});

/** A member's document. */
export const memberOf = (serverId: string, userId: string, bot: boolean): MemberDoc => ({
  _id: `${serverId}:${userId}`,
  serverId,
  userId,
  bot,
  roles: [],
  joinedAt: new Date(),
});

/** Stores members with their memberships. Whatever makes members by direct writes uses this function. */
export async function insertMembers({ db }: Platform, members: readonly MemberDoc[]): Promise<void> {
  await insertMissing(db.memberships, members.map(toMembership));
  await insertMissing(db.members, members);
}

/** Makes a world with this many bots, people and channels. Everyone may view and post in every channel. */
export async function seedServer(platform: Platform, counts: { bots: number; channels: number; people?: number }): Promise<SeededServer> {
  const { db, ids } = platform;
  const id = (): string => ids.next();
  const serverId = id();
  const ownerId = id();
  const credential = (accountId: string, kind: 'bot' | 'session') => credentialOf(id(), accountId, kind);
  const owner = credential(ownerId, 'session');
  const bots = Array.from({ length: counts.bots }, (_, slot) => {
    const botId = id();
    const applicationId = id();
    return { id: botId, applicationId, slot, credential: credential(botId, 'bot') };
  });
  const channelIds = Array.from({ length: counts.channels }, id);
  const people = counts.people ? await makePeople(platform, counts.people) : [];
  await insertMissing(db.accounts, [accountOf(ownerId, 'person', null), ...bots.map((bot) => accountOf(bot.id, 'bot', bot.applicationId))]);
  await insertMissing(db.tokens, [owner.doc, ...bots.map((bot) => bot.credential.doc)]);
  await insertMissing(
    db.applications,
    bots.map((bot) => ({
      _id: bot.applicationId,
      ownerId,
      botId: bot.id,
      name: `app ${bot.slot}`,
      description: '',
      iconUrl: null,
      public: true,
      inDirectory: false,
      interactionsEndpointUrl: null,
      signingSecret: seal(platform.config.APP_KEY, createSecret()),
      slot: bot.slot,
      createdAt: new Date(),
    })),
  );
  await insertMissing(db.servers, [serverOf(serverId, ownerId, counts.channels, counts.bots + people.length + 1)]);
  await insertMissing(
    db.channels,
    channelIds.map((_id, position) => channelOf(_id, serverId, position)),
  );
  await insertMembers(platform, [
    memberOf(serverId, ownerId, false),
    ...bots.map((bot) => memberOf(serverId, bot.id, true)),
    ...people.map((person) => memberOf(serverId, person.id, false)),
  ]);
  return {
    serverId,
    ownerId,
    ownerToken: owner.token,
    channelIds,
    bots: bots.map(({ id: botId, applicationId, credential: own }) => ({ id: botId, applicationId, token: own.token })),
    people,
  };
}

/** Adds `count` people to a server by direct writes; returns their ids in order. Person `n` has the username `<name><n>` and the display name `<Name> <n>`. */
export async function fillServer(platform: Platform, serverId: string, count: number, name = 'person'): Promise<string[]> {
  const { db, ids } = platform;
  const userIds = Array.from({ length: count }, () => ids.next());
  const createdAt = new Date();
  const none = { avatarUrl: null, tag: null, passwordHash: null, applicationId: null, customStatus: null };
  for (let start = 0; start < count; start += 1_000) {
    const part = userIds.slice(start, start + 1_000).map((userId, at) => ({
      userId,
      username: `${name}${start + at}`,
      displayName: `${name.charAt(0).toUpperCase()}${name.slice(1)} ${start + at}`,
    }));
    await insertMissing(
      db.accounts,
      part.map(({ userId, ...names }) => ({ _id: userId, kind: 'person', ...names, ...none, status: 'online', createdAt })),
    );
    await insertMembers(
      platform,
      part.map(({ userId, username, displayName }) => ({
        ...memberOf(serverId, userId, false),
        search: { username, displayName: foldSearch(displayName) },
      })),
    );
  }
  await db.servers.updateOne({ _id: serverId }, { $inc: { memberCount: count } });
  return userIds;
}

/** Adds `count` roles to a server by a direct write. Their ids are `0`, `1` and so on. */
export async function fillRoles({ db, ids }: Platform, serverId: string, count: number): Promise<void> {
  const role = { color: null, hoist: false, permissions: 0, botId: null };
  const roles = Array.from({ length: count }, (_, at) => ({ id: ids.next(), name: `r${at}`, ...role }));
  await db.servers.updateOne({ _id: serverId }, { $push: { roles: { $each: roles } }, $inc: { rolesVersion: 1 } });
}

/** Gives each of these people a session token by direct writes; returns the tokens in the same order. */
export async function giveTokens({ db, ids }: Platform, userIds: readonly string[]): Promise<string[]> {
  const createdAt = new Date();
  const made = userIds.map((accountId) => {
    const _id = ids.next();
    return { _id, accountId, ...newToken(_id) };
  });
  for (const part of toParts(made, 1_000)) {
    await insertMissing(
      db.tokens,
      part.map(({ _id, accountId, hash }) => ({ _id, accountId, kind: 'session', hash, createdAt, expiresAt: null })),
    );
  }
  return made.map(({ token }) => token);
}

/** Makes `count` people by direct writes, each with a session. */
export async function makePeople(platform: Platform, count: number): Promise<{ id: string; token: string }[]> {
  const ids = Array.from({ length: count }, () => platform.ids.next());
  await insertMissing(
    platform.db.accounts,
    ids.map((id) => accountOf(id, 'person', null)),
  );
  const tokens = await giveTokens(platform, ids);
  return ids.map((id, at) => ({ id, token: tokens[at] as string }));
}

/** Makes one server with one channel for each list of `members`, by direct writes. */
export async function makeServers(
  platform: Platform,
  members: readonly (readonly { id: string; bot: boolean }[])[],
): Promise<{ serverId: string; channelId: string }[]> {
  const { db, ids } = platform;
  const servers = members.map(() => ({ serverId: ids.next(), channelId: ids.next() }));
  await insertMissing(
    db.servers,
    servers.map(({ serverId }, at) => serverOf(serverId, serverId, 1, members[at]?.length ?? 0)),
  );
  await insertMissing(
    db.channels,
    servers.map(({ serverId, channelId }) => channelOf(channelId, serverId, 0)),
  );
  await insertMembers(
    platform,
    servers.flatMap(({ serverId }, at) => (members[at] ?? []).map(({ id, bot }) => memberOf(serverId, id, bot))),
  );
  return servers;
}

/** Writes fields of an application without their checks. Every process reads them again. */
export const setApplication = async (
  platform: Platform,
  { id, applicationId }: { id: string; applicationId: string },
  fields: Partial<ApplicationDoc>,
): Promise<void> =>
  void (await changeBot(platform, id, () => platform.db.applications.updateOne({ _id: applicationId }, { $set: fields })));
