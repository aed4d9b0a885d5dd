import PQueue from 'p-queue';
import { Refusal } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { truncate } from '../../base/text.ts';
import { requireValid } from '../../contract/check.ts';
import { CallbackInput } from '../../contract/message.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { deriveInteractionToken, unseal } from '../../store/seal.ts';
import { type EndpointRequest, postToEndpoint } from '../applications/endpoint-requests.ts';
import { type DecidedAnswer, decideAnswer } from '../interactions/answers.ts';
import { canBotView, loadInteractionBot } from '../interactions/bot-context.ts';
import { toInteractionPayload } from '../interactions/outbox.ts';
import { createUpdateEntry, markExpired, transition, windows } from '../interactions/states.ts';
import { appendInteraction } from './interactions.ts';

type DeliveryRecord = NonNullable<InteractionDoc['delivery']>;

/** The most characters of a reason that are stored. */
const reasonChars = 300;

const createFailure = (reason: string, reply: Pick<DeliveryRecord, 'status' | 'ms'> = { status: null, ms: 0 }): DeliveryRecord => ({
  status: reply.status,
  ms: reply.ms,
  outcome: 'failed',
  reason: truncate(reason, reasonChars),
});

/**
 * What this process does for uses of commands before their requests and after them, 8 at once: otherwise a burst would take every database connection from the
 * queues, and fail itself (docs/guarantees.md#p11-bounded-resources). Answers go first, because they have less time left. The number of requests that wait for
 * an answer is not limited here.
 */
const work = new PQueue({ concurrency: 8 });
const priority = { answer: 1, request: 0 } as const;

/** Claims an interaction, so that only this worker makes its one request. Returns null if it was claimed before, is answered, or its 3 seconds are over. */
async function claim(platform: WorkerPlatform, id: string): Promise<(InteractionDoc & { deliveredAt: Date }) | null> {
  const claimed = await platform.db.interactions.findOneAndUpdate(
    { _id: id, endpoint: true, state: 'created', deliveredAt: null, $expr: windows.firstAnswer },
    [{ $set: { deliveredAt: '$$NOW' } }],
    { returnDocument: 'after' },
  );
  return claimed as (InteractionDoc & { deliveredAt: Date }) | null;
}

const saveDelivery = (platform: WorkerPlatform, id: string, delivery: DeliveryRecord): Promise<unknown> =>
  platform.db.interactions.updateOne({ _id: id }, { $set: { delivery } });

/** What is stored, and whose events are in the log; their acknowledgement may be pending. It takes longer than the rest, and nothing waits for it. */
type Stored = Partial<Awaited<ReturnType<typeof appendInteraction>>>;

/** Lets the interaction expire, unless the bot answers by the callback route until then. */
const expireLater = (platform: WorkerPlatform, { _id, createdAt }: InteractionDoc): void =>
  platform.jobs.tryEnqueue(
    'expire-interaction',
    { interactionId: _id },
    { delayMs: Math.max(1, createdAt.getTime() + limits.answerWindowMs - platform.now()) },
  );

/**
 * Stores that the endpoint gave no answer. While the bot may still answer by the callback route, the person is told that it may not; after that, the interaction
 * is expired.
 */
async function saveFailure(platform: WorkerPlatform, interaction: InteractionDoc, failure: DeliveryRecord): Promise<Stored> {
  const startMs = performance.now();
  const set = { delivery: { $literal: failure } };
  const updated = await transition(platform, interaction._id, {
    from: 'created',
    window: windows.firstAnswer,
    set,
    events: [createUpdateEntry(platform, interaction, 'created', { endpointFailed: true })],
  });
  failpoint(platform.config, 'after-endpoint-failure');
  if (updated) expireLater(platform, updated);
  const saved = updated ?? (await markExpired(platform, interaction, set));
  if (saved) return appendInteraction(platform, saved, startMs);
  await saveDelivery(platform, interaction._id, failure);
  return {};
}

/**
 * Applies the 200 of an endpoint exactly like a callback, and stores the outcome in the same write (docs/behavior/interactions.md#endpoint-answers). The
 * pending events of the interaction are relayed at once: a job for them would be a third of the total cost of using a command.
 */
async function applyReply(
  platform: WorkerPlatform,
  interaction: InteractionDoc,
  answer: unknown,
  { status, ms }: Pick<DeliveryRecord, 'status' | 'ms'>,
): Promise<Stored> {
  const startMs = performance.now();
  const toDelivery = (outcome: DeliveryRecord['outcome']): DeliveryRecord => ({ status, ms, outcome, reason: null });
  if (answer === undefined) {
    await saveDelivery(platform, interaction._id, toDelivery('empty'));
    expireLater(platform, interaction);
    return {};
  }
  let decided: DecidedAnswer;
  try {
    requireValid(CallbackInput, answer, 'body');
    const input = answer as CallbackInput;
    const delivery = { $literal: toDelivery(input.type === 'defer' ? 'deferred' : 'answered') };
    decided = await decideAnswer(platform, interaction, input, platform.ids.next(), { delivery });
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault;
    return saveFailure(platform, interaction, createFailure(`${fault.code}: ${fault.message}`, { status, ms }));
  }
  return appendInteraction(platform, decided.interaction, startMs);
}

/** A claimed interaction for which only the request is left to make. */
interface PreparedRequest {
  interaction: InteractionDoc;
  request: Omit<EndpointRequest, 'timeoutMs'>;
  /** When its 3 seconds are over, by the monotonic clock of the process. */
  deadlineMs: number;
  /** Releases its slot among the requests in flight. */
  release: () => void;
}

/** Builds the request of a claimed interaction from the current state. If it cannot be sent, returns the outcome with the reason. */
async function prepareRequest(
  platform: WorkerPlatform,
  interaction: InteractionDoc & { deliveredAt: Date },
  startMs: number,
): Promise<PreparedRequest | DeliveryRecord> {
  const { _id: id, applicationId, createdAt, deliveredAt } = interaction;
  const leftMs = createdAt.getTime() + limits.answerWindowMs - deliveredAt.getTime(); // both by the database's clock
  const deadlineMs = startMs + leftMs;
  const [bot, command] = await Promise.all([loadInteractionBot(platform, interaction), toInteractionPayload(platform, interaction)]);
  const url = bot?.application.interactionsEndpointUrl;
  if (!url) return createFailure('the application no longer has an Interactions Endpoint URL');
  if (!(await canBotView(platform, interaction, bot))) return createFailure('the bot can no longer view the channel');
  if (bot.isSuspended) return createFailure('the owner of the application is suspended');
  const secret = unseal(platform.config, bot.application.signingSecret);
  if (secret === null) return createFailure('the signing secret cannot be decrypted; reset it in the developer portal');
  const payload = { ...command, token: deriveInteractionToken(platform.config.APP_KEY, id) };
  const request = { url, secret, payload, applicationId };
  const slotRequest = { id, group: applicationId, maxPerGroup: limits.requestsPerApplication, ttlMs: leftMs + 1_000 };
  const release = await platform.acquireRequestSlot(slotRequest);
  return release
    ? { interaction, request, deadlineMs, release }
    : createFailure('busy: too many requests of this application are waiting for a response');
}

/** Claims an interaction and prepares its request. Returns null if there is none to make. Rejects while a store is unavailable. */
async function claimAndPrepare(platform: WorkerPlatform, id: string): Promise<PreparedRequest | null> {
  const startMs = performance.now(); // read before the claim, so that `deadlineMs` is never too late
  const interaction = await claim(platform, id);
  if (!interaction) return null;
  failpoint(platform.config, 'after-endpoint-claim');
  const prepared = await prepareRequest(platform, interaction, startMs).catch(async (error: unknown) => {
    // Nothing was sent, so the claim is removed, and the sweep can try again while there is time.
    await platform.db.interactions.updateOne({ _id: id }, { $set: { deliveredAt: null } });
    throw error;
  });
  if ('release' in prepared) return prepared;
  await (await saveFailure(platform, interaction, prepared)).acknowledged;
  return null;
}

/** Makes the one request within the rest of the 3 seconds, and applies the answer or stores why there is none. */
async function makeRequest(platform: WorkerPlatform, { interaction, request, deadlineMs }: PreparedRequest): Promise<Stored> {
  const timeoutMs = Math.floor(deadlineMs - performance.now());
  if (timeoutMs <= 0) return saveFailure(platform, interaction, createFailure('the 3 seconds were over before the request could be sent'));
  // The endpoint gets no traceparent: it belongs to somebody else.
  const reply = await platform.tracing.run('post to endpoint', { kind: 'client' }, async (span) => {
    const answer = await postToEndpoint(platform, { ...request, timeoutMs });
    if (answer.status !== null) span.setAttributes({ 'http.response.status_code': answer.status });
    if (!answer.ok) span.end(answer.step);
    return answer;
  });
  platform.metrics.endpoints.record(interaction.applicationId, reply.ms, reply.ok);
  failpoint(platform.config, 'after-endpoint-reply');
  const apply = (): Promise<Stored> =>
    reply.ok
      ? applyReply(platform, interaction, reply.answer, reply)
      : saveFailure(platform, interaction, createFailure(`${reply.step}: ${reply.reason}`, reply));
  return work.add(apply, { priority: priority.answer });
}

/**
 * Posts an interaction to its application's Interactions Endpoint (docs/behavior/interactions.md#endpoint-requests): at most once, because the claim is written
 * before the request (docs/guarantees.md#p8-endpoint-requests). Without a valid answer the callback route stays open until the time is over. The outcome is
 * stored for the application's owner. Resolves when this process has room for it, to a function that does it, which the caller can run detached: what waits
 * meanwhile waits in the queue, whose age decides about further uses.
 */
export async function postInteraction(platform: WorkerPlatform, id: string): Promise<() => Promise<void>> {
  await work.onSizeLessThan(1);
  return async () => {
    const prepared = await work.add(() => claimAndPrepare(platform, id), { priority: priority.request });
    if (!prepared) return;
    const { acknowledged } = await makeRequest(platform, prepared).finally(prepared.release);
    await acknowledged;
  };
}
