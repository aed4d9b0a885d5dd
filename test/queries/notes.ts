/*
 * What the recorded queries do not say by themselves: for which of them nobody waits, what bounds a result that has no limit, and which may break a rule.
 */

/** By the reason, the callers whose queries are few, because no message, connection or relayed event waits for them: files, or files and functions. */
const coldCallers: Readonly<Record<string, readonly RegExp[]>> = {
  start: [
    /^lib\/store\/mongo\/(app-key|schema-check)\.ts/,
    /^lib\/store\/redis\/node-lease\.ts/,
    /^lib\/store\/redis\/log\/acknowledged-numbers\.ts checkPartitions/,
  ],
  migration: [/^lib\/store\/mongo\/(migrate|migration-lock|migrations|move-reactions)\.ts/],
  operator: [/^apps\/operator\//, /^lib\/domain\/key-rotation\.ts/, /^lib\/domain\/operators\//, /^lib\/domain\/servers\/grants\.ts/],
  sweep: [
    / (sweep|findOverdue)/,
    /^workers\/sweep\.ts/,
    /^lib\/domain\/events\/relay\.ts/,
    /^lib\/domain\/messages\/reaction-changes\.ts (deleteReactionsOfTombstones|completeOverdueChanges)/,
    /^lib\/domain\/servers\/recounts\.ts/,
    /^lib\/domain\/interactions\/interaction-sweeps\.ts/,
    /^lib\/domain\/channels\/thread-activity\.ts( archiveThreads)?$/,
    /^lib\/domain\/applications\/app-directory\.ts$/,
  ],
  removal: [
    /^lib\/domain\/servers\/(finish-removal|removals)\.ts/,
    /^lib\/domain\/messages\/message-removal\.ts/,
    /^lib\/domain\/messages\/followers\.ts removeFollowsOf/,
    /^lib\/domain\/webhooks\/webhooks\.ts removeWebhooksOfChannel/,
    /^lib\/domain\/files\/files\.ts (removeChannelFiles|deleteFiles|findUnusedBlobs|markFilesUndecided|decide|markFilesDecided)/,
    /^lib\/domain\/files\/storage\.ts releaseStorage/,
  ],
  'page of a developer': [/^lib\/domain\/interactions\/endpoints\.ts listEndpointDeliveries/],
  'image conversion': [/^lib\/domain\/files\/image-conversion\.ts convertImage/],
  'once for 100 copies of a crosspost': [/^lib\/domain\/messages\/crosspost-tombstones\.ts clearTombstones/],
  'crosspost of files': [/^lib\/domain\/files\/file-copies\.ts decideCopies/],
};

/** Why the queries of this caller are few; undefined for hot queries. */
export const findColdReason = (caller: string): string | undefined =>
  Object.entries(coldCallers).find(([, patterns]) => patterns.some((one) => one.test(caller)))?.[0];

/** Whether the queries of this caller are few. */
export const isCold = (caller: string): boolean => findColdReason(caller) !== undefined;

/** Where a query without a limit is bounded by a cap of the product: its collection, fields of its filter, and the cap. */
export const caps: readonly { collection: string; by: readonly string[]; cap: string }[] = [
  { collection: 'accounts', by: ['tag'], cap: 'the bots that an operator has verified' },
  { collection: 'applications', by: ['ownerId'], cap: '50 applications of a person' },
  { collection: 'channels', by: ['serverId', 'slot'], cap: '500 channels of a server' },
  { collection: 'channels', by: ['serverId', 'position'], cap: '500 channels of a server' },
  {
    collection: 'channels',
    by: ['serverId', 'overwrites.id'],
    cap: 'channels and threads of a server that have an overwrite of who leaves',
  },
  { collection: 'commands', by: ['applicationId'], cap: 'the scopes of the applications in a picker; for one application, its servers' },
  { collection: 'deliveries', by: ['webhookId'], cap: 'deliveries that wait or are listed: the log is trimmed to 50' },
  { collection: 'deliveries', by: ['outcome', 'at'], cap: 'webhooks with overdue deliveries' },
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
  { collection: 'messages', by: ['channelId', 'pinSlot'], cap: '50 pins of a channel' },
  { collection: 'messages', by: ['channelId', 'copyOf'], cap: '1,000 copies of a message' },
  { collection: 'reactions', by: ['channelId', 'messageId', 'userId'], cap: '20 emoji of each message' },
  { collection: 'reads', by: ['channelId'], cap: 'the accounts that have read a channel' },
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

/** Queries that may break a rule of the test that explains them, by the reason: their descriptions, or with `*` the beginnings of these. */
export const exceptions: Readonly<Record<string, readonly string[]>> = {
  'The collection has a few documents.': ['log *', 'meta *', 'probe *', 'migrations *'],
  'Any document will do, at a start.': ['applications {} limit one*', 'webhooks {} limit one*'],
  'It reads the channels of one server: at most 500, and its active threads.': [
    'channels { archiveAt: { $exists: true }, parentId: { $in }, serverId }*',
    'channels { archiveAt: { $exists: true }, parentId: { $in }, serverId: { $in } }*',
    'channels { overwrites.id: { $in }, serverId }*',
    'channels { parentId, position: { $gte: 0 }, serverId }*',
    'channels { _id: { $gt }, kind, parentId, serverId }*',
  ],
  'It searches text, so it reads the listed servers or applications until the page is full.': [
    'servers { $expr: *',
    'applications { $expr: *',
  ],
  'It sorts all applications of the App Directory, verified ones first.': ['applications { inDirectory: true, public: true } *'],
  'DocumentDB sorts what the index finds after a bound, so it reads all later pending events for each page. MongoDB reads a page in the order of the index.':
    ['messages { _id: { $nin }, outboxAt: { $gte } } sort *'],
  'The rotation of keys reads all claims of the last 10 minutes.': ['idempotency { _id: { $gt }, answer.sealed: true } *'],
  'It reads the invites of one server: at most 1,000.': ['invites { $and: *'],
  'A page in the middle reads the newer bans of the server too.': [
    'bans { $or: [{ _id: { $lt }, createdAt }, { createdAt: { $lt } }], serverId }*',
  ],
  'It undoes the creation of a server, which has few channels.': ['channels { serverId }'],
  'It reads what was posted after a person began to type: some seconds.': ['messages { _id: { $gt }, authorId, channelId } limit one*'],
  'It counts all members of a server or all messages of a thread, when these are quiet, and within a time limit.': [
    'members { serverId } count*',
    'messages { channelId, deleted: { $exists: false } } count*',
  ],
  'It reads the log of a webhook, which is trimmed to 50 deliveries.': [
    'deliveries { _id: { $gt }, outcome: waiting, recent: true, webhookId }*',
  ],
  'It reads the unread mentions of all these channels. MongoDB merges the channels in the order of the index instead.': [
    'messages { _id: { $gt }, channelId: { $in }, pings: true }*',
  ],
  'A removal deletes the batch that it has read.': ['messages { _id: { $lte }, channelId }'],
  'One write of a removal changes all documents of a server. It is repeated until it succeeds.': [
    'audit { serverId }',
    'bans { serverId }',
    'commands { serverId }',
    'members { roles, serverId }',
  ],
  'It runs once, in the first start of a version that searches members.': [
    'members { renameId: { $exists: false }, search: { $exists: false } }*',
  ],
  'It removes the members of a deleted server in batches.': ['members { serverId } sort { _id: 1 }*'],
};
