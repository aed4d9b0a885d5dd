/*
 * What the recorded queries do not say by themselves: for which of them nobody waits, what bounds a result that has no limit, and which may break a rule.
 */

/** By the reason, the callers whose queries are few, because no message, connection or relayed event waits for them: files, or files and functions. */
const coldCallers: Readonly<Record<string, readonly RegExp[]>> = {
  start: [/^lib\/store\/(mongo\/(app-key|schema-check)|redis\/node-lease)\.ts/, /^lib\/store\/mongo\/log-state\.ts checkPartitions/],
  migration: [/^lib\/store\/mongo\/(fold-searches|migrate|migration-lock|migrations|move-reactions)\.ts/],
  operator: [/^apps\/operator\//, /^lib\/domain\/key-rotation\.ts/, /^lib\/domain\/operators\//, /^lib\/domain\/servers\/grants\.ts/],
  backup: [/^lib\/domain\/backup\//, /^lib\/store\/mongo\/(backup-lease|restore-mark)\.ts/, /^lib\/store\/redis\/log\/restored-log\.ts/],
  sweep: [
    / (sweep|findOverdue)/,
    /^(workers\/sweep|lib\/store\/mongo\/due)\.ts/,
    /^lib\/domain\/jobs\/retention-sweep\.ts/,
    /^lib\/domain\/relay\/relay\.ts/,
    /^lib\/domain\/messages\/new-messages\.ts/,
    /^lib\/domain\/messages\/reaction-changes\.ts (deleteReactionsOfTombstones|completeOverdueChanges)/,
    /^lib\/domain\/(counts\/recounts|jobs\/interactions)\.ts/,
    /^lib\/domain\/channels\/thread-activity\.ts( archiveThreads)?$/,
    /^lib\/domain\/counts\/bot-servers\.ts$/,
  ],
  removal: [
    /^lib\/domain\/(jobs\/(finish-removal|removal-pass)|removals|messages\/removal)\.ts/,
    /^lib\/domain\/jobs\/finish-account-removal\.ts/,
    /^lib\/domain\/messages\/followers\.ts removeFollowsOf/,
    /^lib\/domain\/webhooks\/webhooks\.ts removeWebhooksOfChannel/,
    /^lib\/domain\/files\/files\.ts (removeChannelFiles|deleteFiles|findUnusedBlobs|decide|markFilesDecided)/,
    /^lib\/domain\/files\/storage\.ts releaseStorage/,
  ],
  export: [/^lib\/domain\/exports\/(work|contents|messages)\.ts/],
  'page of a developer': [/^lib\/domain\/applications\/endpoints\.ts listEndpointDeliveries/],
  'image conversion': [/^lib\/domain\/files\/image-conversion\.ts convertImage/],
  'once for 50 copies of a crosspost': [/^lib\/domain\/jobs\/crosspost-copies\.ts findOldestPending/],
  'once for 100 copies of a crosspost': [/^lib\/domain\/messages\/crosspost-tombstones\.ts clearTombstones/],
  'crosspost of files': [/^lib\/domain\/files\/file-copies\.ts decideCopies/],
};

/** Why the queries of this caller are few; undefined for hot queries. */
export const findColdReason = (caller: string): string | undefined =>
  Object.entries(coldCallers).find(([, patterns]) => patterns.some((one) => one.test(caller)))?.[0];

/** Whether the queries of this caller are few. */
export const isCold = (caller: string): boolean => findColdReason(caller) !== undefined;

/**
 * A cap of the product that bounds the queries of a collection without a limit: those whose filter compares the fields `by` by equality, and has a condition on
 * the fields `within`.
 */
export interface Cap {
  collection: string;
  by: readonly string[];
  within?: readonly string[];
  cap: string;
}

/** What bounds the queries without a limit. */
export const caps: readonly Cap[] = [
  { collection: 'accounts', by: ['tag'], cap: 'the bots that an operator has verified' },
  { collection: 'applications', by: ['ownerId'], cap: '50 applications of a person' },
  { collection: 'channels', by: ['serverId'], within: ['slot'], cap: '500 channels of a server' },
  { collection: 'channels', by: ['serverId'], within: ['position'], cap: '500 channels of a server' },
  {
    collection: 'channels',
    by: ['serverId', 'overwrites.id'],
    cap: 'channels and threads of a server that have an overwrite of who leaves',
  },
  { collection: 'commands', by: ['applicationId', 'serverId'], cap: 'the scopes of the applications in a picker' },
  { collection: 'deliveries', by: ['webhookId'], cap: 'deliveries that wait or are listed: the log is trimmed to 50' },
  { collection: 'dms', by: ['pair'], cap: 'the DMs of the accounts that are asked for' },
  { collection: 'files', by: ['messageId'], cap: '10 files of a message' },
  { collection: 'files', by: ['blob'], cap: '1,000 copies of a file' },
  { collection: 'files', by: ['original'], cap: '1,000 copies of a file' },
  { collection: 'follows', by: ['sourceId'], cap: '1,000 followers of a channel' },
  { collection: 'follows', by: ['targetId'], cap: 'the announcement channels that a channel follows' },
  { collection: 'invites', by: ['serverId'], cap: '1,000 invites of a server' },
  { collection: 'loginCodes', by: ['accountId'], cap: '5 login codes of a person' },
  { collection: 'members', by: ['serverId', 'bot'], cap: 'the bots of a server' },
  { collection: 'members', by: ['serverId', 'userId'], cap: 'the accounts that are asked for' },
  { collection: 'memberships', by: ['userId'], cap: '100 servers of a person; for a bot, its servers' },
  { collection: 'messages', by: ['channelId'], within: ['pinSlot'], cap: '50 pins of a channel' },
  { collection: 'messages', by: ['copyOf'], cap: '1,000 copies of a message' },
  { collection: 'reactions', by: ['channelId', 'messageId', 'userId'], cap: '20 emoji of each message' },
  { collection: 'tokens', by: ['accountId'], cap: '50 sessions of a person' },
  { collection: 'webhooks', by: ['channelId'], cap: '15 webhooks of a channel' },
];

/** Hot queries that may lack the shard key of their collection, by the reason: their descriptions. */
export const withoutShardKey: Readonly<Record<string, readonly string[]>> = {
  'Jobs that an earlier version has enqueued do not name the channel.': [
    'messages { _id, crosspostAt: { $exists: true }, deleted: { $exists: false } } limit one',
    'messages { _id, deleted: { $exists: false }, previewsAt: { $exists: true } } limit one',
  ],
};

/** A rule that the test of the queries checks (docs/scaling.md#queries). */
export type Rule = 'index' | 'examined' | 'returned' | 'sorted' | 'bound';

/** Queries that may break one rule, by their descriptions. They keep all others. A query that keeps the rule may not be listed. */
export interface Exception {
  rule: Rule;
  why: string;
  queries: readonly string[];
}

/** What is excepted from the rules on the local store. */
export const exceptions: readonly Exception[] = [
  {
    rule: 'examined',
    why: 'A person has at most 5 login codes.',
    queries: ['loginCodes { accountId, sessionId }'],
  },
  {
    rule: 'bound',
    why: 'A removal deletes the batch that it has read.',
    queries: ['messages { _id: { $lte }, channelId }'],
  },
  {
    rule: 'bound',
    why: 'It counts all members of a server or all messages of a thread, when these are quiet, and within a time limit.',
    queries: ['members { serverId } count', 'messages { channelId, deleted: { $exists: false } } count'],
  },
  {
    rule: 'bound',
    why: 'It sorts what is listed in the App Directory, verified applications first.',
    queries: [
      'applications { $expr: { $or: [{ $gte: [{ $indexOfBytes: [{ $ifNull: [$search.name, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.description, <string>] }, { $literal }] }, <number>] }] }, inDirectory: true, public: true } $project $addFields $sort $skip $limit',
      'applications { $expr: { $or: [{ $gte: [{ $indexOfBytes: [{ $ifNull: [$search.name, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.name, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.description, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.description, <string>] }, { $literal }] }, <number>] }] }, inDirectory: true, public: true } $project $addFields $sort $skip $limit',
      'applications { inDirectory: true, public: true } $project $addFields $sort $skip $limit',
    ],
  },
  {
    rule: 'bound',
    why: 'It undoes the creation of a server, which has few channels.',
    queries: ['channels { serverId }'],
  },
  {
    rule: 'bound',
    why: 'One write takes a role from all members of a server. It is repeated until it succeeds.',
    queries: ['members { roles, serverId }'],
  },
  {
    rule: 'bound',
    why: 'The relay of a server reads ten documents at a time, and stops when it has enough events for a batch.',
    queries: [
      'channels { outboxAt: { $exists: true }, serverId } sort { outboxAt: 1 } hint pending',
      'channels { outboxAt: { $gte }, serverId } sort { outboxAt: 1 } hint pending',
      'members { outboxAt: { $exists: true }, serverId } sort { outboxAt: 1 } hint pending',
    ],
  },
  {
    rule: 'bound',
    why: 'A gateway node keeps the active threads of the servers with sessions there, because it shows them with their channel.',
    queries: ['channels { archiveAt: { $exists: true }, serverId: { $in } }'],
  },
  {
    rule: 'bound',
    why: 'The collection has a document for each migration.',
    queries: ['migrations {}', 'migrations { _id: { $ne } }', 'migrations { doneAt: { $exists: true } }'],
  },
  {
    rule: 'examined',
    why: 'A page in the middle reads the newer bans of the server too.',
    queries: ['bans { $or: [{ _id: { $lt }, createdAt }, { createdAt: { $lt } }], serverId } sort { createdAt: -1, _id: -1 } limit some'],
  },
  {
    rule: 'examined',
    why: 'DocumentDB sorts what the index finds after a bound, so it reads all later pending events for each page. MongoDB reads a page in the order of the index.',
    queries: ['messages { _id: { $nin }, outboxAt: { $gte } } sort { outboxAt: 1 } limit some'],
  },
  {
    rule: 'examined',
    why: 'It finds the oldest of a person’s login codes: at most 5.',
    queries: ['loginCodes { accountId } sort { createdAt: 1 } limit one'],
  },
  {
    rule: 'examined',
    why: 'It finds the oldest of a person’s sessions: at most 50.',
    queries: [
      'tokens { accountId, expiresAt: { $gt }, kind } sort { lastUsedAt: -1, _id: -1 } hint accountId_1 limit some',
      'tokens { accountId, kind, slot: { $gte: 0 } } sort { lastUsedAt: 1 } limit one',
    ],
  },
  {
    rule: 'examined',
    why: 'It reads the channels of one server, at most 500, and its threads.',
    queries: [
      'channels { _id: { $gt }, kind, parentId, serverId } sort { serverId: 1, _id: 1 } hint serverId_1__id_1 limit some',
      'channels { archiveAt: { $exists: true }, parentId: { $in }, serverId } sort { lastActivityAt: -1, _id: -1 } limit some',
      'channels { archiveAt: { $exists: true }, parentId: { $in }, serverId: { $in } } sort { serverId: 1, lastActivityAt: -1, _id: -1 } limit some',
      'channels { overwrites.id: { $in }, serverId }',
      'channels { parentId, position: { $gte: 0 }, serverId }',
    ],
  },
  {
    rule: 'examined',
    why: 'It reads the invites of one server: at most 1,000.',
    queries: [
      'invites { $and: [{ $or: [{ $expr: { $lt: [$uses, $maxUses] } }, { maxUses: 0 }] }, { $or: [{ expiresAt: null }, { expiresAt: { $gt } }] }, { createdAt: { $gt } }, { uses: 0 }], serverId } sort { createdAt: 1, _id: 1 } hint serverId_1_slot_1',
      'invites { $and: [{ $or: [{ $expr: { $lt: [$uses, $maxUses] } }, { maxUses: 0 }] }, { $or: [{ expiresAt: null }, { expiresAt: { $gt } }] }], serverId } sort { createdAt: 1, _id: 1 } hint serverId_1_slot_1',
    ],
  },
  {
    rule: 'examined',
    why: 'It reads the log of a webhook, which is trimmed to 50 deliveries.',
    queries: ['deliveries { _id: { $gt }, outcome: waiting, recent: true, webhookId } sort { _id: 1 } hint recent limit some'],
  },
  {
    rule: 'examined',
    why: 'It reads the unread mentions of all these channels. MongoDB merges the channels in the order of the index instead.',
    queries: ['messages { _id: { $gt }, channelId: { $in }, pings: true } sort { _id: -1 } hint pings limit some'],
  },
  {
    rule: 'examined',
    why: 'It searches text, so it reads the listed servers or applications until the page is full.',
    queries: [
      'applications { $expr: { $or: [{ $gte: [{ $indexOfBytes: [{ $ifNull: [$search.name, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.description, <string>] }, { $literal }] }, <number>] }] }, inDirectory: true, public: true } $project $addFields $sort $skip $limit',
      'applications { $expr: { $or: [{ $gte: [{ $indexOfBytes: [{ $ifNull: [$search.name, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.name, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.description, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.description, <string>] }, { $literal }] }, <number>] }] }, inDirectory: true, public: true } $project $addFields $sort $skip $limit',
      'servers { $expr: { $or: [{ $gte: [{ $indexOfBytes: [{ $ifNull: [$search.name, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.description, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.tags, <string>] }, { $literal }] }, <number>] }] }, community: true, discovery.category, listed: true, types: { $nin } } sort { memberCount: -1, _id: 1 } hint discovery limit some',
      'servers { $expr: { $or: [{ $gte: [{ $indexOfBytes: [{ $ifNull: [$search.name, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.description, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.tags, <string>] }, { $literal }] }, <number>] }] }, community: true, listed: true, types: { $nin } } sort { memberCount: -1, _id: 1 } hint discovery limit some',
      'servers { $expr: { $or: [{ $gte: [{ $indexOfBytes: [{ $ifNull: [$search.name, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.name, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.description, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.description, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.tags, <string>] }, { $literal }] }, <number>] }, { $gte: [{ $indexOfBytes: [{ $ifNull: [$search.tags, <string>] }, { $literal }] }, <number>] }] }, community: true, listed: true, types: { $nin } } sort { memberCount: -1, _id: 1 } hint discovery limit some',
    ],
  },
  {
    rule: 'examined',
    why: 'The rotation of keys reads all claims of the last 10 minutes.',
    queries: ['idempotency { _id: { $gt }, answer.sealed: true } sort { _id: 1 } limit some'],
  },
  {
    rule: 'index',
    why: 'It asks whether there is any document, and reads one.',
    queries: ['applications {} limit one', 'webhooks {} limit one'],
  },
  {
    rule: 'index',
    why: 'The collection has a few documents at most, or one for each migration.',
    queries: [
      'log { _id } limit one',
      'meta { $expr: { $gt: [$until, $$NOW] }, _id } limit one',
      'meta { _id } limit one',
      'meta { _id, keys } limit one',
      'migrations {}',
      'migrations { _id: { $gt } } sort { _id: 1 } limit some',
      'migrations { _id: { $ne } }',
      'migrations { doneAt: { $exists: true } }',
      'probe { _id } limit one',
    ],
  },
  {
    rule: 'returned',
    why: 'It reads the invites of one server: at most 1,000.',
    queries: [
      'invites { $and: [{ $or: [{ $expr: { $lt: [$uses, $maxUses] } }, { maxUses: 0 }] }, { $or: [{ expiresAt: null }, { expiresAt: { $gt } }] }, { createdAt: { $gt } }, { uses: 0 }], serverId } sort { createdAt: 1, _id: 1 } hint serverId_1_slot_1',
    ],
  },
  {
    rule: 'returned',
    why: 'The rotation of keys reads all claims of the last 10 minutes.',
    queries: ['idempotency { _id: { $gt }, answer.sealed: true } sort { _id: 1 } limit some'],
  },
  {
    rule: 'returned',
    why: 'All messages here are in one server, so no later server has any.',
    queries: [
      'messages { crosspostAt: { $exists: true }, serverId: { $gt } } sort { serverId: 1, _id: 1 } hint pendingCrossposts limit one',
    ],
  },
  {
    rule: 'returned',
    why: 'The two bounds of the creation have one value here, so nothing is between them.',
    queries: [
      'interactions { $expr: { $and: [{ $gt: [$createdAt, { $subtract: [$$NOW, <number>] }] }, { $lte: [$createdAt, { $subtract: [$$NOW, <number>] }] }] }, deliveredAt: null, endpoint: true, state: created } sort { createdAt: 1 } limit some',
    ],
  },
];
