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
import { canView, loadCurrentServerAccess } from '../access/checks.ts';
import { type EndpointRequest, postToEndpoint } from '../applications/endpoint-requests.ts';
import { type DecidedAnswer, decideAnswer } from '../interactions/answers.ts';
import { toInteractionPayload } from '../interactions/outbox.ts';
import { createUpdateEntry, transition, windows } from '../interactions/states.ts';
import { loadAccounts } from '../views/accounts.ts';
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
 * At most 8 answers of endpoints are applied at once in this process. The number of requests that wait for an answer is not limited here. Otherwise a burst
 * would take every database connection from the queues, and fail itself (docs/guarantees.md#p11-bounded-resources). Under overload those with the
 * latest deadline go first, because the others have no time left.
 */
const applying = new PQueue({ concurrency: 8 });

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

/** Stores that the endpoint gave no answer. While the bot may still answer by the callback route, the person is told that it may not. */
async function saveFailure(platform: WorkerPlatform, interaction: InteractionDoc, failure: DeliveryRecord): Promise<Stored> {
  const startMs = performance.now();
  const updated = await transition(platform, interaction._id, {
    from: 'created',
    window: windows.firstAnswer,
    set: { delivery: { $literal: failure } },
    events: [createUpdateEntry(platform, interaction, 'created', { endpointFailed: true })],
  });
  if (updated) return appendInteraction(platform, updated, startMs);
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
  const { _id: id, applicationId, serverId, botId, channelId, createdAt, deliveredAt } = interaction;
  const leftMs = createdAt.getTime() + limits.answerWindowMs - deliveredAt.getTime(); // both by the database's clock
  const deadlineMs = startMs + leftMs;
  const [access, command, application] = await Promise.all([
    serverId === null ? null : loadCurrentServerAccess(platform, serverId),
    toInteractionPayload(platform, interaction),
    platform.db.applications.findOne({ _id: applicationId }),
  ]);
  const [isVisible, owners] = await Promise.all([
    serverId === null || (access !== null && canView(access, botId, channelId)),
    loadAccounts(platform, application ? [application.ownerId] : []),
  ]);
  if (!isVisible) return createFailure('the bot can no longer view the channel');
  const url = application?.interactionsEndpointUrl;
  if (!application || !url) return createFailure('the application no longer has an Interactions Endpoint URL');
  if (owners.get(application.ownerId)?.suspendedAt !== undefined) return createFailure('the owner of the application is suspended');
  const secret = unseal(platform.config, application.signingSecret);
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
  return applying.add(apply, { priority: deadlineMs });
}

/**
 * Posts an interaction to its application's Interactions Endpoint (docs/behavior/interactions.md#endpoint-requests): at most once, because the claim is written
 * before the request (docs/guarantees.md#p8-endpoint-requests). Without a valid answer the callback route stays open until the time is over. The outcome is
 * stored for the application's owner. Resolves to a function that makes the request, which the caller can run detached, or to null if there is no request to
 * make.
 */
export async function postInteraction(platform: WorkerPlatform, id: string): Promise<(() => Promise<void>) | null> {
  const prepared = await claimAndPrepare(platform, id);
  return prepared && (async () => void (await (await makeRequest(platform, prepared).finally(prepared.release)).acknowledged));
}
