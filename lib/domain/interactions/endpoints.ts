import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { DeliveryPage, EndpointTest } from '../../contract/endpoint.ts';
import type { ApplicationDoc } from '../../store/mongo/models/account.ts';
import { deliveriesIndex, type InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { unseal } from '../../store/seal.ts';
import { ownApplication } from '../applications/applications-owned.ts';
import type { Actor } from '../members/access.ts';
import { askEndpoint, type EndpointReply } from './endpoint-requests.ts';

const isPong = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && (answer as { type?: unknown }).type === 'pong';

/**
 * The reply to a ping as the application's owner sees it. A 200 with anything but `{ type: pong }` is a failure too. Steps after the failed one are left out.
 */
function testOf(reply: EndpointReply): EndpointTest {
  const { status, ms, stages } = reply;
  const fault = !reply.ok ? reply : isPong(reply.answer) ? null : ({ step: 'body', reason: 'is not {"type":"pong"}' } as const);
  const reached = fault ? stages.slice(0, stages.findIndex(({ step }) => step === fault.step) + 1) : stages;
  const steps = reached.map((stage) => ({ ...stage, ok: stage.step !== fault?.step }));
  return { ok: fault === null, status, ms, step: fault?.step ?? null, reason: fault?.reason ?? null, steps };
}

/**
 * Sends a signed ping to `url` and returns the result. Refuses with `secret_unreadable`, with `rate_limited` while 3 pings of the application are under way,
 * and with `unavailable` while Redis is unavailable.
 */
async function ping(platform: EnqueuePlatform, { _id, signingSecret }: ApplicationDoc, url: string): Promise<EndpointTest> {
  const secret = unseal(platform.config, signingSecret) ?? refuse('secret_unreadable');
  const timeoutMs = limits.answerWindowMs;
  const flight = { id: platform.ids.next(), group: `ping-${_id}`, groupMax: limits.pingsPerApplication, lastsMs: timeoutMs + 1_000 };
  const land = await platform.takeFlight(flight).catch(() => refuse('unavailable', undefined, { retryAfter: 1 }));
  if (!land) return refuse('rate_limited', { seconds: 1 }, { retryAfter: 1 });
  try {
    return testOf(await askEndpoint(platform, { url, secret, payload: { type: 'ping' }, timeoutMs }));
  } finally {
    land();
  }
}

/** Refuses with `endpoint_unverified` unless `url` passes its ping. The error says which step failed, with which status and after how long. */
export async function requirePong(platform: EnqueuePlatform, application: ApplicationDoc, url: string): Promise<void> {
  const { ok, step, reason, status, ms } = await ping(platform, application, url);
  if (ok || step === null) return;
  const told = `at the step \`${step}\`: ${reason}`;
  const message = `${told} (${status === null ? 'no HTTP status' : `HTTP status ${status}`}, ${ms} ms)`;
  refuse('endpoint_unverified', { reason: told }, { errors: [{ path: '/interactionsEndpointUrl', message, step, status, ms }] });
}

/** Pings the saved endpoint of the caller's application and returns each step (docs/behavior/interactions.md#endpoint-test). 400 if none is saved. */
export async function testEndpoint(platform: EnqueuePlatform, actor: Actor, applicationId: string): Promise<EndpointTest> {
  const application = await ownApplication(platform, actor, applicationId);
  const url = application.interactionsEndpointUrl;
  return url === null
    ? refuse('invalid_request', { reason: 'the application has no interactionsEndpointUrl; save one first' })
    : ping(platform, application, url);
}

/** How long after a claim its outcome is stored at the latest, in milliseconds. If it is missing then, it was lost. */
const outcomeMs = limits.answerWindowMs + 2_000;
const lost = {
  status: null,
  ms: 0,
  outcome: 'failed',
  reason: 'the outcome is unknown because a worker stopped or a store was unavailable',
} as const;

/**
 * Returns a page of the last 100 interactions that were sent to the endpoint of the caller's application and are no longer under way, newest first. They are at
 * most 7 days old, because interactions are kept no longer. `before` is the id of a delivery.
 */
export async function listDeliveries(
  platform: Platform,
  actor: Actor,
  { applicationId, before, limit }: { applicationId: string; before?: string | undefined; limit: number },
): Promise<DeliveryPage> {
  const { _id } = await ownApplication(platform, actor, applicationId);
  const sent = { applicationId: _id, endpoint: true, deliveredAt: { $ne: null } };
  const under = { delivery: { $exists: false }, $expr: { $gt: [{ $add: ['$deliveredAt', outcomeMs] }, '$$NOW'] } };
  const found = (await platform.db.interactions.collection
    .find({ ...sent, $nor: [under] } as never)
    .project({ deliveredAt: 1, delivery: 1 })
    .sort({ _id: -1 })
    .hint(deliveriesIndex)
    .limit(limits.deliveriesListed)
    .toArray()) as unknown as (Pick<InteractionDoc, '_id' | 'delivery'> & { deliveredAt: Date })[];
  const rest = before === undefined ? found : found.filter((one) => one._id < before);
  const items = rest
    .slice(0, limit)
    .map(({ _id: id, deliveredAt, delivery = lost }) => ({ id, interactionId: id, at: deliveredAt.toISOString(), ...delivery }));
  return { items, hasMore: rest.length > limit };
}
