import { Refusal } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { cut } from '../../base/text.ts';
import { createTurns } from '../../base/turns.ts';
import { checkFit } from '../../contract/check.ts';
import { CallbackInput } from '../../contract/message.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { interactionTokenOf, unseal } from '../../store/seal.ts';
import { loadServerNow, mayView } from '../members/access.ts';
import { askEndpoint, type EndpointRequest } from './endpoint-requests.ts';
import { type Decided, decideAnswer } from './interaction-answers.ts';
import { payloadOf, relayInteraction } from './interaction-outbox.ts';
import { windows } from './interaction-states.ts';

type Outcome = NonNullable<InteractionDoc['delivery']>;

/** The most characters of a reason that are stored. */
const reasonChars = 300;

const failed = (reason: string, sent: Pick<Outcome, 'status' | 'ms'> = { status: null, ms: 0 }): Outcome => ({
  status: sent.status,
  ms: sent.ms,
  outcome: 'failed',
  reason: cut(reason, reasonChars),
});

/**
 * At most 8 answers of endpoints are applied at once in this process. The number of requests that wait for an answer is not limited here. Otherwise a burst
 * would take every database connection from the queues, and fail itself (docs/guarantees.md#p11-bounded-resources). Under overload the newest go first, because
 * the oldest have no time left.
 */
const applyingTurns = createTurns(8, { newestFirst: true });

/** Claims an interaction, so that only this worker makes its one request. Returns null if it was claimed before, is answered, or its 3 seconds are over. */
async function claim(platform: WorkerPlatform, id: string): Promise<(InteractionDoc & { deliveredAt: Date }) | null> {
  const claimed = await platform.db.interactions.collection.findOneAndUpdate(
    { _id: id as never, endpoint: true, state: 'created', deliveredAt: null, $expr: windows.answering },
    [{ $set: { deliveredAt: '$$NOW' } }],
    { returnDocument: 'after' },
  );
  return claimed as unknown as (InteractionDoc & { deliveredAt: Date }) | null;
}

const note = (platform: WorkerPlatform, id: string, delivery: Outcome): Promise<unknown> =>
  platform.db.interactions.updateOne({ _id: id }, { $set: { delivery } });

/**
 * Applies the 200 of an endpoint exactly like a callback, and stores the outcome in the same write (docs/behavior/interactions.md#endpoint-answers). The
 * pending events of the interaction are relayed at once: a job for them would be a third of the total cost of using a command.
 */
async function apply(
  platform: WorkerPlatform,
  interaction: InteractionDoc,
  answer: unknown,
  { status, ms }: Pick<Outcome, 'status' | 'ms'>,
): Promise<void> {
  const began = performance.now();
  const outcomeOf = (outcome: Outcome['outcome']): Outcome => ({ status, ms, outcome, reason: null });
  if (answer === undefined) return void (await note(platform, interaction._id, outcomeOf('empty')));
  let decided: Decided;
  try {
    checkFit(CallbackInput, answer, 'body');
    const input = answer as CallbackInput;
    const delivery = { $literal: outcomeOf(input.type === 'defer' ? 'deferred' : 'answered') };
    decided = await decideAnswer(platform, interaction, input, platform.ids.next(), { delivery });
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault;
    return void (await note(platform, interaction._id, failed(`${fault.code}: ${fault.message}`, { status, ms })));
  }
  await relayInteraction(platform, decided.interaction, began);
}

/** A claimed interaction for which only the request is left to make. */
interface Ready {
  interaction: InteractionDoc;
  request: Omit<EndpointRequest, 'timeoutMs'>;
  /** When its 3 seconds are over, by the monotonic clock of the process. */
  endsAt: number;
  /** Releases its slot among the requests in flight. */
  land: () => void;
}

/** Builds the request of a claimed interaction from the current state. If it cannot be sent, returns the outcome with the reason. */
async function prepare(
  platform: WorkerPlatform,
  interaction: InteractionDoc & { deliveredAt: Date },
  askedAt: number,
): Promise<Ready | Outcome> {
  const { _id: id, applicationId, serverId, botId, channelId, createdAt, deliveredAt } = interaction;
  const leftMs = createdAt.getTime() + limits.answerWindowMs - deliveredAt.getTime(); // both by the database's clock
  const endsAt = askedAt + leftMs;
  const access = serverId === null ? null : await loadServerNow(platform, serverId);
  if (serverId !== null && !(access && (await mayView(access, botId, channelId))))
    return failed('the bot may not see the channel any more');
  const { APP_KEY } = platform.config;
  const payload = { ...(await payloadOf(platform, interaction)), token: interactionTokenOf(APP_KEY, id) };
  const application = await platform.db.applications.findOne({ _id: applicationId }).lean();
  const url = application?.interactionsEndpointUrl;
  if (!application || !url) return failed('the application has no Interactions Endpoint any more');
  const secret = unseal(platform.config, application.signingSecret);
  if (secret === null) return failed('the signing secret cannot be decrypted: reset it in the developer portal');
  const request = { url, secret, payload };
  const flight = { id, group: applicationId, groupMax: limits.requestsPerApplication, lastsMs: leftMs + 1_000 };
  const land = await platform.takeFlight(flight);
  return land ? { interaction, request, endsAt, land } : failed('busy: too many requests of the application wait for their answer');
}

/** Claims an interaction and prepares its request. Returns null if there is none to make. Rejects while a store is unavailable. */
async function take(platform: WorkerPlatform, id: string): Promise<Ready | Outcome | null> {
  const askedAt = performance.now(); // read before the claim, so that `endsAt` is never too late
  const interaction = await claim(platform, id);
  if (!interaction) return null;
  failpoint(platform.config, 'after-endpoint-claim');
  try {
    return await prepare(platform, interaction, askedAt);
  } catch (error) {
    // Nothing was sent, so the claim is removed, and the sweep can try again while there is time.
    await platform.db.interactions.updateOne({ _id: id }, { $set: { deliveredAt: null } });
    throw error;
  }
}

/** Makes the one request within the rest of the 3 seconds, and applies the answer or stores why there is none. */
async function send(platform: WorkerPlatform, { interaction, request, endsAt, land }: Ready): Promise<void> {
  try {
    const timeoutMs = Math.floor(endsAt - performance.now());
    if (timeoutMs <= 0) return void (await note(platform, interaction._id, failed('the time was over before the request was sent')));
    const reply = await askEndpoint(platform, { ...request, timeoutMs });
    platform.metrics.endpoints.note(interaction.applicationId, reply.ms, reply.ok);
    failpoint(platform.config, 'after-endpoint-reply');
    await applyingTurns('', async () => {
      if (reply.ok) await apply(platform, interaction, reply.answer, reply);
      else await note(platform, interaction._id, failed(`${reply.step}: ${reply.reason}`, reply));
    });
  } finally {
    land();
  }
}

/**
 * Posts an interaction to its application's Interactions Endpoint (docs/behavior/interactions.md#endpoint-requests): at most once, because the claim is written
 * before the request (docs/guarantees.md#p8-endpoint-requests). Without a valid answer the callback route stays open until the time is over. The outcome is
 * stored for the application's owner. Resolves to a function that makes the request, which the caller can run detached, or to null if there is no request to
 * make.
 */
export async function postInteraction(platform: WorkerPlatform, id: string): Promise<(() => Promise<void>) | null> {
  const taken = await take(platform, id);
  if (taken && 'land' in taken) return () => send(platform, taken);
  if (taken) await note(platform, id, taken);
  return null;
}
