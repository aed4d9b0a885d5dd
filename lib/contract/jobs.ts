import { type Static, type TSchema, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Id } from './shared.ts';

/** The options of one kind of job (quality 4). Data holds ids only. */
export interface JobEntry {
  queue: 'drain' | 'interactions' | 'endpoints' | 'crosspost' | 'codehost' | 'media' | 'previews' | 'upkeep';
  data: TSchema;
  attempts: number;
  /** First and longest wait between attempts. */
  backoffMs?: { first: number; most: number };
  delayMs?: number;
  /** How long after a nudge the next one for the same job waits, in milliseconds; 25 by default. */
  spacingMs?: number;
  /** `once`: one waiting job for a key, and one more when it comes while that one runs; `id`: the key is the job's id. */
  unique: 'once' | 'id';
  /** Which of the waiting jobs is taken first: by default the oldest. */
  newestFirst?: true;
  key: (data: never) => string;
}

const job = <S extends TSchema>(entry: Omit<JobEntry, 'data' | 'key'> & { data: S; key: (data: Static<S>) => string }) => entry;

/** Every kind of job: name = file in workers/ = log field. */
export const jobs = {
  'drain-channel': job({
    queue: 'drain',
    data: Type.Object({ channelId: Id }),
    attempts: 20,
    backoffMs: { first: 200, most: 5_000 },
    unique: 'once',
    key: (data) => `ch-${data.channelId}`,
  }),
  'drain-server': job({
    queue: 'drain',
    data: Type.Object({ serverId: Id }),
    attempts: 20,
    backoffMs: { first: 200, most: 5_000 },
    unique: 'once',
    key: (data) => `sv-${data.serverId}`,
  }),
  'announce-typing': job({
    queue: 'drain',
    data: Type.Object({ channelId: Id, userId: Id, typingId: Id }),
    attempts: 1,
    unique: 'once',
    key: (data) => `ty-${data.channelId}-${data.userId}`,
  }),
  'announce-read': job({
    queue: 'drain',
    data: Type.Object({ channelId: Id, userId: Id }),
    attempts: 1,
    unique: 'once',
    key: (data) => `rd-${data.channelId}-${data.userId}`,
  }),
  'deliver-interaction': job({
    queue: 'interactions',
    data: Type.Object({ interactionId: Id }),
    attempts: 1,
    unique: 'once',
    key: (data) => `ixd-${data.interactionId}`,
  }),
  'post-interaction': job({
    queue: 'endpoints',
    data: Type.Object({ interactionId: Id }),
    attempts: 1,
    unique: 'id',
    newestFirst: true, // when there are too many, some are in time; the oldest first, all would be late
    key: (data) => `ixp-${data.interactionId}`,
  }),
  'expire-interaction': job({
    queue: 'interactions',
    data: Type.Object({ interactionId: Id }),
    attempts: 3,
    backoffMs: { first: 200, most: 1_000 },
    delayMs: limits.answerWindowMs,
    unique: 'id',
    key: (data) => `ixe-${data.interactionId}`,
  }),
  'crosspost-message': job({
    queue: 'crosspost',
    data: Type.Object({ messageId: Id, afterId: Id }),
    attempts: 8,
    backoffMs: { first: 200, most: 5_000 },
    unique: 'id',
    key: (data) => `xp-${data.messageId}-${data.afterId}`,
  }),
  'post-deliveries': job({
    queue: 'codehost',
    data: Type.Object({ webhookId: Id }),
    attempts: 5,
    backoffMs: { first: 200, most: 5_000 },
    spacingMs: 500, // a webhook posts hardly once a second
    unique: 'once',
    key: (data) => `wh-${data.webhookId}`,
  }),
  'finish-removal': job({
    queue: 'upkeep',
    data: Type.Object({ removalId: Id }),
    attempts: 20,
    backoffMs: { first: 200, most: 5_000 },
    unique: 'once',
    key: (data) => `rm-${data.removalId}`,
  }),
  'convert-image': job({
    queue: 'media',
    data: Type.Object({ fileId: Id }),
    attempts: 3,
    backoffMs: { first: 500, most: 5_000 },
    unique: 'id',
    key: (data) => `wp-${data.fileId}`,
  }),
  'settle-files': job({
    queue: 'upkeep',
    data: Type.Object({ messageId: Id }),
    attempts: 20,
    backoffMs: { first: 200, most: 5_000 },
    unique: 'once',
    key: (data) => `fl-${data.messageId}`,
  }),
  'send-notice': job({
    queue: 'upkeep',
    data: Type.Object({ noticeId: Id }),
    attempts: 8,
    backoffMs: { first: 200, most: 5_000 },
    unique: 'id',
    key: (data) => `nt-${data.noticeId}`,
  }),
  'fetch-previews': job({
    queue: 'previews',
    data: Type.Object({ messageId: Id }),
    attempts: 2,
    backoffMs: { first: 1_000, most: 1_000 },
    unique: 'once',
    key: (data) => `pv-${data.messageId}`,
  }),
} as const;

/** The name of a kind of job. */
export type JobName = keyof typeof jobs;
/** The data of a kind of job. */
export type JobData<N extends JobName> = Static<(typeof jobs)[N]['data']>;
/** The name of a queue. */
export type QueueName = (typeof jobs)[JobName]['queue'];

/** How the worker of a queue runs, and what operators are told of it. */
export interface QueueEntry {
  /** What waits here. */
  about: string;
  /** What is normal here, and what to do when it grows. */
  normal: string;
  grows: string;
  /** Jobs at a time in one process. */
  concurrency: number;
  /** How long a dead worker's job stays stuck (quality 4). */
  lockMs: number;
  stalledCheckMs: number;
  maxStalled: number;
}

/** Every queue. */
export const queues: Record<QueueName, QueueEntry> = {
  drain: {
    about: 'Channels and servers with events that their bots and people have not been told of yet, who is typing, and read marks.',
    normal: 'Nearly empty: a job takes milliseconds, and tells all that its channel owes.',
    grows: 'Everybody hears of everything late. Nothing is lost: add a worker, or see whether Redis is slow.',
    concurrency: 16,
    lockMs: 5_000,
    stalledCheckMs: 2_000,
    maxStalled: 20,
  },
  interactions: {
    about: 'Uses of slash commands: to be handed to their bot, and, for later, to be ended 3 seconds after.',
    normal: 'Nothing waits. What stands for later are the uses of the last 3 seconds.',
    grows: 'Commands reach bots late and expire unanswered. Add a worker.',
    concurrency: 32,
    lockMs: 5_000,
    stalledCheckMs: 2_000,
    maxStalled: 3,
  },
  endpoints: {
    about: 'Uses of slash commands to be posted to an Interactions Endpoint. What has been posted waits for its reply beside the queue.',
    normal: 'Nothing waits; of a burst the newest goes first, as it has the most time left.',
    grows:
      'Uses expire before they are posted. Add a worker; a slow endpoint is not the cause, as it only takes places of its own application.',
    concurrency: 8,
    lockMs: 5_000,
    stalledCheckMs: 2_000,
    maxStalled: 0,
  },
  crosspost: {
    about: 'Announcements to be copied to the channels that follow, a part of the followers at a time.',
    normal: 'Empty, but for some seconds after an announcement that many follow.',
    grows: 'Followers get their copies late. It passes by itself; if it does not, look in the worker’s log for crosspost-message.',
    concurrency: 2,
    lockMs: 5_000,
    stalledCheckMs: 2_000,
    maxStalled: 20,
  },
  codehost: {
    about: 'Webhooks with deliveries of a code host to post, in order.',
    normal: 'A few, and some for later: a webhook posts hardly once a second, and what is too much is summed up.',
    grows: 'Many webhooks are busy at once. Look in the worker’s log for post-deliveries; add a worker if its CPU is used up.',
    concurrency: 4,
    lockMs: 5_000,
    stalledCheckMs: 2_000,
    maxStalled: 20,
  },
  media: {
    about: 'Uploaded images to be made into WebP. A process encodes one at a time, while the one before is put away.',
    normal: 'Empty, or a few for some seconds each. Messages do not wait for it.',
    grows: 'People see the originals for longer. Add a worker on a machine with a free core.',
    concurrency: 2,
    lockMs: 5_000,
    stalledCheckMs: 2_000,
    maxStalled: 3,
  },
  upkeep: {
    about: 'What deletes, removals and uploads leave to be done: messages and files that go, notices that are sent.',
    normal: 'Empty, but after the delete of something large.',
    grows: 'Space is given back later. Look in the worker’s log for finish-removal, settle-files and send-notice.',
    concurrency: 4,
    lockMs: 5_000,
    stalledCheckMs: 2_000,
    maxStalled: 20,
  },
  previews: {
    about: 'Messages with links whose pages are to be looked at.',
    normal: 'A few: a page has seconds to answer, and eight are asked at once.',
    grows: 'Previews come late. Pages that do not answer are the usual cause, or a machine without a way out.',
    concurrency: 8,
    lockMs: 5_000,
    stalledCheckMs: 2_000,
    maxStalled: 3,
  },
};
