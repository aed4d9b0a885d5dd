import { folded } from '../../lib/base/text.ts';
import { newToken } from '../../lib/domain/credentials.ts';
import type { Platform } from '../../lib/store/platform.ts';
import { newSecret, seal } from '../../lib/store/seal.ts';

/** A server with people, bots and text channels, made by direct writes: for benches and fault runs that need many at once. */
export interface World {
  serverId: string;
  ownerId: string;
  /** The owner's session token. */
  ownerToken: string;
  channelIds: string[];
  bots: { id: string; applicationId: string; token: string }[];
}

/** Makes a world of so many bots and channels. Everybody may view and post everywhere. */
export async function makeWorld(platform: Platform, counts: { bots: number; channels: number }): Promise<World> {
  const { db, ids } = platform;
  const id = (): string => ids.next();
  const now = new Date();
  const serverId = id();
  const ownerId = id();
  const account = (_id: string, kind: 'bot' | 'person', applicationId: string | null) => ({
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
    createdAt: now,
  });
  const credential = (accountId: string, kind: 'bot' | 'session') => {
    const _id = id();
    const { token, hash } = newToken(_id);
    return { token, doc: { _id, accountId, kind, hash, createdAt: now, expiresAt: null } };
  };
  const owner = credential(ownerId, 'session');
  const bots = Array.from({ length: counts.bots }, (_, slot) => {
    const botId = id();
    const applicationId = id();
    return { id: botId, applicationId, slot, credential: credential(botId, 'bot') };
  });
  const channelIds = Array.from({ length: counts.channels }, id);
  await db.accounts.insertMany([account(ownerId, 'person', null), ...bots.map((bot) => account(bot.id, 'bot', bot.applicationId))]);
  await db.tokens.insertMany([owner.doc, ...bots.map((bot) => bot.credential.doc)]);
  await db.applications.insertMany(
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
      signingSecret: seal(platform.config.APP_KEY, newSecret()),
      slot: bot.slot,
      createdAt: now,
    })),
  );
  const everyone = { id: serverId, name: '@everyone', color: null, hoist: false, permissions: 15, botId: null };
  await db.servers.insertMany([
    {
      _id: serverId,
      name: 'world',
      iconUrl: null,
      ownerId,
      roles: [everyone],
      invitesPaused: false,
      types: [],
      community: false,
      listed: false,
      nextPosition: counts.channels,
      memberCount: counts.bots + 1,
      createdAt: now,
    },
  ]);
  await db.channels.insertMany(
    channelIds.map((_id, position) => ({
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
      createdAt: now,
    })),
  );
  const member = (userId: string, bot: boolean) => ({ _id: `${serverId}:${userId}`, serverId, userId, bot, roles: [], joinedAt: now });
  await db.members.insertMany([member(ownerId, false), ...bots.map((bot) => member(bot.id, true))]);
  return {
    serverId,
    ownerId,
    ownerToken: owner.token,
    channelIds,
    bots: bots.map(({ id: botId, applicationId, credential: own }) => ({ id: botId, applicationId, token: own.token })),
  };
}

/** Puts so many people into a server by direct writes; answers their ids, in order. Person `n` has the username `<name><n>`, and `<Name> <n>` as display name. */
export async function fillServer({ db, ids }: Platform, serverId: string, count: number, name = 'person'): Promise<string[]> {
  const userIds = Array.from({ length: count }, () => ids.next());
  const createdAt = new Date();
  const none = { avatarUrl: null, tag: null, passwordHash: null, applicationId: null, customStatus: null };
  for (let start = 0; start < count; start += 1_000) {
    const part = userIds.slice(start, start + 1_000).map((userId, at) => ({
      userId,
      username: `${name}${start + at}`,
      displayName: `${name.charAt(0).toUpperCase()}${name.slice(1)} ${start + at}`,
    }));
    await db.accounts.collection.insertMany(
      part.map(({ userId, ...names }) => ({ _id: userId, kind: 'person', ...names, ...none, status: 'online', createdAt })) as never,
    );
    await db.members.collection.insertMany(
      part.map(({ userId, username, displayName }) => ({
        _id: `${serverId}:${userId}`,
        serverId,
        userId,
        bot: false,
        roles: [],
        joinedAt: createdAt,
        search: { username, displayName: folded(displayName) },
      })) as never,
    );
  }
  await db.servers.collection.updateOne({ _id: serverId as never }, { $inc: { memberCount: count } });
  return userIds;
}

/** Gives each of these people a session token by direct writes; answers the tokens in their order. */
export async function giveTokens({ db, ids }: Platform, userIds: readonly string[]): Promise<string[]> {
  const createdAt = new Date();
  const made = userIds.map((accountId) => {
    const _id = ids.next();
    return { _id, accountId, ...newToken(_id) };
  });
  for (let start = 0; start < made.length; start += 1_000) {
    const part = made.slice(start, start + 1_000);
    await db.tokens.collection.insertMany(
      part.map(({ _id, accountId, hash }) => ({ _id, accountId, kind: 'session', hash, createdAt, expiresAt: null })) as never,
    );
  }
  return made.map(({ token }) => token);
}
