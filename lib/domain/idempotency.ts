import { randomUUID } from 'node:crypto';
import { Refusal, refuse } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { isDuplicateKey } from '../store/mongo/database.ts';
import type { IdempotencyDoc } from '../store/mongo/models/interaction.ts';
import type { Platform } from '../store/platform.ts';
import { seal, sha256, unseal } from '../store/seal.ts';

/** The response to a create request, stored to be returned again. */
export interface StoredResponse {
  status: number;
  body: string;
}

/** A create request with an Idempotency-Key. */
export interface KeyedRequest {
  caller: string;
  /** Method and path, with the path parameters filled in. The same key on another route counts as another key. */
  route: string;
  key: string;
  /** The body's fields. Two bodies are the same if these are equal. */
  body: unknown;
  /** The id that the resource gets if this is the first call. */
  newId: string;
  /** Whether the response contains a secret. Such responses are stored encrypted. */
  secret: boolean;
}

/** A body with sorted keys, so that the same fields in another order are the same body. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, canonical(inner)]),
  );
}

/** The id of the claim. It is a hash, because a path may hold a secret, such as an interaction token, which must not be stored. */
const claimId = ({ caller, route, key }: KeyedRequest): string => sha256(`${caller}:${route}:${key}`);

/** The cache key that marks the claim of a call that failed in this process. A repeated call then need not wait 30 s, as it must after a process died. */
const failedCallKey = (holder: string): string => `failed-call:${holder}`;

/** A call that may run. `isRepeated`: it repeats one that may have stored something. */
interface Claimed {
  resourceId: string;
  isRepeated: boolean;
}

async function claim(platform: Platform, create: KeyedRequest, holder: string): Promise<Claimed | StoredResponse> {
  const now = platform.now();
  const _id = claimId(create);
  const claimDoc: IdempotencyDoc = {
    _id,
    bodyHash: sha256(JSON.stringify(canonical(create.body ?? null))),
    resourceId: create.newId,
    holder,
    claimedAt: new Date(now),
    answer: null,
    expiresAt: new Date(now + limits.idempotencyRetentionMs),
  };
  try {
    await platform.db.idempotency.insertOne(claimDoc);
    return { resourceId: create.newId, isRepeated: false };
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
  const existing = await platform.db.idempotency.findOne({ _id });
  if (!existing) return refuse('idempotency_conflict', { reason: 'is no longer in use. Send the request again' });
  const { resourceId, answer, bodyHash } = existing;
  if (existing.expiresAt.getTime() <= now) {
    const { modifiedCount } = await platform.db.idempotency.replaceOne({ _id, holder: existing.holder }, claimDoc);
    if (modifiedCount) return { resourceId: create.newId, isRepeated: false };
  }
  if (bodyHash !== claimDoc.bodyHash) return refuse('idempotency_conflict', { reason: 'was already used with a different body' });
  const body = answer?.sealed ? unseal(platform.config, answer.body) : answer?.body;
  if (answer && typeof body === 'string') return { status: answer.status, body };
  // A stored response that no key decrypts is lost. The call then runs again with the same id, as after a crash.
  if (
    answer ||
    now - existing.claimedAt.getTime() >= limits.idempotencyTakeoverMs ||
    platform.accessCache.has(failedCallKey(existing.holder))
  ) {
    const { modifiedCount } = await platform.db.idempotency.updateOne(
      { _id, holder: existing.holder },
      { $set: { holder, claimedAt: new Date(now), answer: null } },
    );
    if (modifiedCount) return { resourceId, isRepeated: true };
  }
  return refuse('idempotency_conflict', { reason: 'belongs to a request that is still running. Try again in a moment' });
}

/**
 * Runs `create` once for its key. For 10 minutes the same caller, route and key get the first response again (docs/behavior/requests.md#idempotency). `run`
 * gets the id of the resource. After a crash it runs again with the same id, so it must accept an existing resource of that id as its own. Refuses with
 * `idempotency_conflict` if the body differs or the first call still runs.
 */
export async function runIdempotently(
  platform: Platform,
  create: KeyedRequest,
  run: (id: string) => Promise<StoredResponse>,
): Promise<StoredResponse> {
  const holder = randomUUID();
  const ownClaim = { _id: claimId(create), holder };
  let mayBeStored = false;
  try {
    const claimed = await claim(platform, create, holder);
    if ('status' in claimed) return claimed;
    mayBeStored = claimed.isRepeated;
    const response = await run(claimed.resourceId);
    const body = create.secret ? seal(platform.config.APP_KEY, response.body) : response.body;
    await platform.db.idempotency.updateOne(ownClaim, { $set: { answer: { status: response.status, body, sealed: create.secret } } });
    return response;
  } catch (error) {
    // A first call that was refused has stored nothing, so the key is released. Otherwise something may be stored, so the next call must use the same id.
    if (mayBeStored || !(error instanceof Refusal)) {
      platform.accessCache.set(failedCallKey(holder), {});
      await platform.db.idempotency.updateOne(ownClaim, { $set: { claimedAt: new Date(0) } }).catch(() => undefined);
    } else await platform.db.idempotency.deleteOne(ownClaim).catch(() => undefined);
    throw error;
  }
}
