import { type Static, type TSchema, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Id } from './shared.ts';

/** The options of one kind of job. Its data `D` contains only ids. */
export interface JobDefinition<D = never> {
  queue: 'interactions' | 'endpoints' | 'crosspost' | 'codehost' | 'media' | 'previews' | 'upkeep' | 'exports';
  data: TSchema;
  attempts: number;
  /** The first and the longest wait between attempts, in milliseconds. The wait doubles after each attempt. */
  backoffMs?: { first: number; max: number };
  delayMs?: number;
  /** `once`: a key has at most one waiting job; a job that is added while one runs is run after it. `id`: the key is the job's id. */
  unique: 'once' | 'id';
  key: (data: D) => string;
  /** Those that share the queue, such as an application and a server. Their ids end the job's id, so that `Admission` can count what waits for each. */
  sharedBy?: (data: D) => readonly string[];
}

const defineJob = <S extends TSchema>(definition: JobDefinition<Static<S>> & { data: S }): JobDefinition<Static<S>> & { data: S } =>
  definition;

/** Whose use of a command it is: the application, and the server or the DM. Earlier versions leave them out. */
const sharing = { applicationId: Type.Optional(Id), placeId: Type.Optional(Id) };
const toSharers = ({ applicationId, placeId }: { applicationId?: string; placeId?: string }): string[] =>
  applicationId && placeId ? [applicationId, placeId] : [];

/** Every kind of job, with its handler in workers/handlers.ts. The name is the log field `job`, and tells the format (docs/operations/upgrade.md#formats). */
export const jobs = {
  // Only earlier versions enqueue it.
  'relay-interaction': defineJob({
    queue: 'interactions',
    data: Type.Object({ interactionId: Id }),
    attempts: 1,
    unique: 'once',
    key: (data) => `ixd-${data.interactionId}`,
  }),
  'deliver-interaction': defineJob({
    queue: 'interactions',
    data: Type.Object({ interactionId: Id, ...sharing }),
    attempts: 1,
    unique: 'id',
    key: (data) => `ixc-${data.interactionId}`,
    sharedBy: toSharers,
  }),
  'post-interaction': defineJob({
    queue: 'endpoints',
    data: Type.Object({ interactionId: Id, ...sharing }),
    attempts: 1,
    unique: 'id',
    key: (data) => `ixp-${data.interactionId}`,
    sharedBy: toSharers,
  }),
  'expire-interaction': defineJob({
    queue: 'interactions',
    data: Type.Object({ interactionId: Id }),
    attempts: 3,
    backoffMs: { first: 200, max: 1_000 },
    delayMs: limits.answerWindowMs,
    unique: 'id',
    key: (data) => `ixe-${data.interactionId}`,
  }),
  'crosspost-server': defineJob({
    queue: 'crosspost',
    data: Type.Object({ serverId: Id }),
    attempts: 8,
    backoffMs: { first: 200, max: 5_000 },
    unique: 'once',
    key: (data) => `xs-${data.serverId}`,
  }),
  // Only earlier versions enqueue it.
  'crosspost-message': defineJob({
    queue: 'crosspost',
    data: Type.Object({ messageId: Id, channelId: Type.Optional(Id), afterId: Id }),
    attempts: 8,
    backoffMs: { first: 200, max: 5_000 },
    unique: 'id',
    key: (data) => `xp-${data.messageId}-${data.afterId}`,
  }),
  'post-deliveries': defineJob({
    queue: 'codehost',
    data: Type.Object({ webhookId: Id }),
    attempts: 5,
    backoffMs: { first: 200, max: 5_000 },
    unique: 'once',
    key: (data) => `wh-${data.webhookId}`,
  }),
  'finish-removal': defineJob({
    queue: 'upkeep',
    data: Type.Object({ removalId: Id }),
    attempts: 20,
    backoffMs: { first: 200, max: 5_000 },
    unique: 'once',
    key: (data) => `rm-${data.removalId}`,
  }),
  'convert-image': defineJob({
    queue: 'media',
    data: Type.Object({ fileId: Id }),
    attempts: 3,
    backoffMs: { first: 500, max: 5_000 },
    unique: 'id',
    key: (data) => `wp-${data.fileId}`,
  }),
  'settle-files': defineJob({
    queue: 'upkeep',
    data: Type.Object({ messageId: Id }),
    attempts: 20,
    backoffMs: { first: 200, max: 5_000 },
    unique: 'once',
    key: (data) => `fl-${data.messageId}`,
  }),
  'send-notice': defineJob({
    queue: 'upkeep',
    data: Type.Object({ noticeId: Id }),
    attempts: 8,
    backoffMs: { first: 200, max: 5_000 },
    unique: 'id',
    key: (data) => `nt-${data.noticeId}`,
  }),
  'fetch-previews': defineJob({
    queue: 'previews',
    data: Type.Object({ messageId: Id, channelId: Type.Optional(Id) }),
    attempts: 2,
    backoffMs: { first: 1_000, max: 1_000 },
    unique: 'once',
    key: (data) => `pv-${data.messageId}`,
  }),
  'export-account': defineJob({
    queue: 'exports',
    data: Type.Object({ exportId: Id }),
    attempts: 1, // the sweep repeats it, after minutes
    unique: 'id',
    key: (data) => `ex-${data.exportId}`,
  }),
} as const;

/** The name of a kind of job. */
export type JobName = keyof typeof jobs;
/** The data of a kind of job. */
export type JobData<N extends JobName> = Static<(typeof jobs)[N]['data']>;
/** The name of a queue. */
export type QueueName = JobDefinition['queue'];

/** How long a job stays locked after its worker died, and how often a worker looks for such jobs, in milliseconds. */
export const jobLock = { ms: 5_000, checkMs: 2_000 } as const;

/** How the worker of a queue runs, and what the operators' pages say about it. */
export interface QueueDefinition {
  /** What the jobs of the queue do. */
  description: string;
  /** What is normal for the queue, and what it means and what to do when it grows. */
  normal: string;
  whenGrowing: string;
  /** How many jobs one process runs at once. */
  concurrency: number;
  maxStalled: number;
  /** Whether the queue is shared fairly between accounts, by the priorities of its jobs. */
  hasPriorities?: true;
}

/** Every queue. */
export const queues: Record<QueueName, QueueDefinition> = {
  interactions: {
    description: `Delivers slash commands to bots over the gateway, and expires each one after ${limits.answerWindowMs / 1000} seconds.`,
    normal: `No waiting jobs; from half a second of waiting on, commands are refused with 503. Delayed jobs are the unanswered commands of the last ${limits.answerWindowMs / 1000} seconds.`,
    whenGrowing: 'Commands are refused. Add a worker.',
    concurrency: 32,
    maxStalled: 3,
  },
  endpoints: {
    description: 'Sends slash commands to Interactions Endpoints. A request that waits for its response is no longer in the queue.',
    normal: 'No waiting jobs. From half a second of waiting on, commands are refused with 503, those of busy applications first.',
    whenGrowing: 'Commands are refused. Add a worker. A slow endpoint delays only its own application.',
    concurrency: 4, // a job ends when it has a place among the commands that its process works on
    maxStalled: 0,
  },
  crosspost: {
    description: 'Copies announcements to the channels that follow them, a batch of followers per job, one server after another.',
    normal: 'Empty, except for a few seconds after an announcement with many followers.',
    whenGrowing: 'Followers get their copies late. If the queue does not shrink by itself, search the worker’s log for crosspost-server.',
    concurrency: 2,
    maxStalled: 20,
  },
  codehost: {
    description: 'Posts the deliveries of code hosts, in order, one webhook per job.',
    normal: 'A few waiting and some delayed jobs: a webhook posts less than once a second, and a long backlog becomes one summary.',
    whenGrowing: 'Many webhooks are busy at once. Search the worker’s log for post-deliveries; add a worker if its CPU is busy.',
    concurrency: 4,
    maxStalled: 20,
  },
  media: {
    description: 'Converts uploaded images to WebP. Each worker encodes one image at a time.',
    normal: 'Empty, or a few jobs that take seconds each.',
    whenGrowing: 'Images appear late. Add a worker on a machine with a free core.',
    concurrency: 2,
    maxStalled: 3,
    hasPriorities: true,
  },
  upkeep: {
    description: 'Cleans up after deletes, removals and uploads: deletes messages and files, and sends notices.',
    normal: 'Empty, except after something large was deleted.',
    whenGrowing: 'Disk space is freed late. Search the worker’s log for finish-removal, settle-files and send-notice.',
    concurrency: 4,
    maxStalled: 20,
  },
  previews: {
    description: 'Fetches the pages that messages link to, for link previews.',
    normal: 'A few. A page has seconds to respond, and each worker serves sixteen messages at once, half of them of one account at most.',
    whenGrowing: 'Previews appear late. Usually pages do not respond, or this machine has no outbound internet access.',
    concurrency: limits.previewsAtOnce,
    maxStalled: 3,
    hasPriorities: true,
  },
  exports: {
    description: 'Writes the archives with people’s data that they have requested, one account per job.',
    normal: 'Empty, or a few jobs that take from seconds to minutes each. An account has one export at a time, and one in 24 hours.',
    whenGrowing: 'People wait longer for their data. Nothing else is late. Search the worker’s log for export-account, or add a worker.',
    concurrency: 2,
    maxStalled: 3,
  },
};
