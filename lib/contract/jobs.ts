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

/** How the worker of each queue runs: jobs at a time in one process, and how long a dead worker's job stays stuck (quality 4). */
export const queues: Record<QueueName, { about: string; concurrency: number; lockMs: number; stalledCheckMs: number; maxStalled: number }> =
  {
    drain: {
      about: 'Takes the events of one channel, or of a server’s channels, to the gateway, in order.',
      concurrency: 16,
      lockMs: 5_000,
      stalledCheckMs: 2_000,
      maxStalled: 20,
    },
    interactions: {
      about: 'Hands interactions to bots and ends those that got no answer.',
      concurrency: 32,
      lockMs: 5_000,
      stalledCheckMs: 2_000,
      maxStalled: 3,
    },
    endpoints: {
      about:
        'Starts the posts of interactions to Interactions Endpoints; what hangs there waits beside the queue, within its application’s own bound.',
      concurrency: 8,
      lockMs: 5_000,
      stalledCheckMs: 2_000,
      maxStalled: 0,
    },
    crosspost: {
      about: 'Copies crossposted messages to the channels that follow.',
      concurrency: 2,
      lockMs: 5_000,
      stalledCheckMs: 2_000,
      maxStalled: 20,
    },
    codehost: {
      about: 'Posts the deliveries of code hosts by their webhooks, in order and at the pace of each.',
      concurrency: 4,
      lockMs: 5_000,
      stalledCheckMs: 2_000,
      maxStalled: 20,
    },
    media: {
      about: 'Converts uploaded images; a process encodes one at a time, while the one before is put away.',
      concurrency: 2,
      lockMs: 5_000,
      stalledCheckMs: 2_000,
      maxStalled: 3,
    },
    upkeep: {
      about: 'Finishes what deletes and removals leave behind.',
      concurrency: 4,
      lockMs: 5_000,
      stalledCheckMs: 2_000,
      maxStalled: 20,
    },
    previews: {
      about: 'Looks at the links of messages and adds their previews.',
      concurrency: 8,
      lockMs: 5_000,
      stalledCheckMs: 2_000,
      maxStalled: 3,
    },
  };
