import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { EndpointDeliveryPage, EndpointTest } from '../../contract/endpoint.ts';
import type { ApplicationDoc } from '../../store/mongo/models/account.ts';
import { deliveriesIndex } from '../../store/mongo/models/interaction.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { unseal } from '../../store/seal.ts';
import { requireOwnApplication } from '../access/application-ownership.ts';
import type { Actor } from '../access/checks.ts';
import { loadAccounts, toUserSummary } from '../views/accounts.ts';
import { postToEndpoint, toEndpointTest } from './endpoint-requests.ts';

/**
 * Sends a signed ping to `url` and returns the result. Refuses with `secret_unreadable`, with `rate_limited` while 3 pings of the application are under way,
 * and with `unavailable` while Redis is unavailable.
 */
async function pingEndpoint(platform: EnqueuePlatform, { _id, signingSecret }: ApplicationDoc, url: string): Promise<EndpointTest> {
  const secret = unseal(platform.config, signingSecret) ?? refuse('secret_unreadable');
  const timeoutMs = limits.answerWindowMs;
  const slotRequest = { id: platform.ids.next(), group: `ping-${_id}`, maxPerGroup: limits.pingsPerApplication, ttlMs: timeoutMs + 1_000 };
  const release = await platform.acquireRequestSlot(slotRequest).catch(() => refuse('unavailable'));
  if (!release) return refuse('rate_limited', { seconds: 1 }, { retryAfter: 1 });
  try {
    return toEndpointTest(await postToEndpoint(platform, { url, secret, payload: { type: 'ping' }, timeoutMs }));
  } finally {
    release();
  }
}

/** Refuses with `endpoint_unverified` unless `url` passes its ping. The error says which step failed, with which status and after how long. */
export async function requirePong(platform: EnqueuePlatform, application: ApplicationDoc, url: string): Promise<void> {
  const { ok, step, reason, status, ms } = await pingEndpoint(platform, application, url);
  if (ok || step === null) return;
  const failure = `at the step \`${step}\`: ${reason}`;
  const message = `${failure} (${status === null ? 'no HTTP status' : `HTTP status ${status}`}, ${ms} ms)`;
  refuse('endpoint_unverified', { reason: failure }, { errors: [{ path: '/interactionsEndpointUrl', message, step, status, ms }] });
}

/** Pings the saved endpoint of the caller's application and returns each step (docs/behavior/interactions.md#endpoint-test). 400 if none is saved. */
export async function testEndpoint(platform: EnqueuePlatform, actor: Actor, applicationId: string): Promise<EndpointTest> {
  const application = await requireOwnApplication(platform, actor, applicationId);
  const url = application.interactionsEndpointUrl;
  return url === null
    ? refuse('invalid_request', { reason: 'the application has no interactionsEndpointUrl; save one first' })
    : pingEndpoint(platform, application, url);
}

/** How long after a claim its outcome is stored at the latest, in milliseconds. If it is missing then, it was lost. */
const outcomeDeadlineMs = limits.answerWindowMs + 2_000;
const lostDelivery = {
  status: null,
  ms: 0,
  outcome: 'failed',
  reason: 'the outcome is unknown because of a failure of the service',
} as const;

/**
 * Returns a page of the last 100 interactions that were sent to the endpoint of the caller's application and are no longer under way, newest first. They are at
 * most 7 days old, because interactions are kept no longer. `before` is the id of a delivery.
 */
export async function listEndpointDeliveries(
  platform: Platform,
  actor: Actor,
  { applicationId, before, limit }: { applicationId: string; before?: string | undefined; limit: number },
): Promise<EndpointDeliveryPage> {
  const { _id } = await requireOwnApplication(platform, actor, applicationId);
  const sentFilter = { applicationId: _id, endpoint: true, deliveredAt: { $ne: null } };
  const inProgressFilter = { delivery: { $exists: false }, $expr: { $gt: [{ $add: ['$deliveredAt', outcomeDeadlineMs] }, '$$NOW'] } };
  const found = await platform.db.interactions
    .find({ ...sentFilter, $nor: [inProgressFilter] })
    .project({ deliveredAt: 1, delivery: 1, messageId: 1, command: 1, userId: 1 })
    .sort({ _id: -1 })
    .hint(deliveriesIndex)
    .limit(limits.interactionDeliveriesListed)
    .toArray();
  const rest = before === undefined ? found : found.filter((one) => one._id < before);
  const page = rest.slice(0, limit);
  const accounts = await loadAccounts(platform, [...new Set(page.map(({ userId }) => userId as string))]);
  const items = page.map(({ _id: id, deliveredAt, delivery = lostDelivery, messageId, command, userId }) => {
    const account = accounts.get(userId);
    const user = account ? toUserSummary(account) : null;
    return { id, interactionId: id, command: command.name, user, at: deliveredAt.toISOString(), ...delivery, messageId };
  });
  return { items, hasMore: rest.length > limit };
}
