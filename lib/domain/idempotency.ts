import { randomUUID } from 'node:crypto';
import { refuse } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { isDuplicate, isUnavailable } from '../store/mongo/database.ts';
import type { IdempotencyDoc } from '../store/mongo/models/interaction.ts';
import type { Platform } from '../store/platform.ts';
import { seal, sha256, unseal } from '../store/seal.ts';

/** The answer to a create request, kept to be given again. */
export interface KeptAnswer {
  status: number;
  body: string;
}

/** A create request with an Idempotency-Key. */
export interface KeyedCreate {
  caller: string;
  /** Method and path, with the path parameters filled in. The same key on another route counts as another key. */
  route: string;
  key: string;
  /** The body's fields. Two bodies are the same if these are equal. */
  body: unknown;
  /** The id that the resource gets if this is the first call. */
  newId: string;
  /** Whether the answer holds a secret. Such answers are stored encrypted. */
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
const claimOf = ({ caller, route, key }: KeyedCreate): string => sha256(`${caller}:${route}:${key}`);

/** The cache key that marks the claim of a call that failed in this process. A repeated call then need not wait 30 s, as it must after a process died. */
const failedCall = (holder: string): string => `failed-call:${holder}`;

async function claim(platform: Platform, create: KeyedCreate, holder: string): Promise<{ resourceId: string } | KeptAnswer> {
  const now = platform.now();
  const _id = claimOf(create);
  const fresh: IdempotencyDoc = {
    _id,
    bodyHash: sha256(JSON.stringify(canonical(create.body ?? null))),
    resourceId: create.newId,
    holder,
    claimedAt: new Date(now),
    answer: null,
    expiresAt: new Date(now + limits.idempotencyKeptMs),
  };
  try {
    await platform.db.idempotency.collection.insertOne(fresh as never);
    return { resourceId: create.newId };
  } catch (error) {
    if (!isDuplicate(error)) throw error;
  }
  const held = await platform.db.idempotency.findOne({ _id }).lean();
  if (!held) return refuse('idempotency_conflict', { reason: 'was just released. Send the request again' });
  const { resourceId, answer, bodyHash } = held;
  if (held.expiresAt.getTime() <= now) {
    const { modifiedCount } = await platform.db.idempotency.replaceOne({ _id, holder: held.holder }, fresh);
    if (modifiedCount) return { resourceId: create.newId };
  }
  if (bodyHash !== fresh.bodyHash) return refuse('idempotency_conflict', { reason: 'was already used with a different body' });
  const body = answer?.sealed ? unseal(platform.config, answer.body) : answer?.body;
  if (answer && typeof body === 'string') return { status: answer.status, body };
  // An answer that no key decrypts is lost. The call then runs again with the same id, as after a crash.
  if (answer || now - held.claimedAt.getTime() >= limits.idempotencyTakeoverMs || platform.cache.has(failedCall(held.holder))) {
    const { modifiedCount } = await platform.db.idempotency.updateOne(
      { _id, holder: held.holder },
      { $set: { holder, claimedAt: new Date(now), answer: null } },
    );
    if (modifiedCount) return { resourceId };
  }
  return refuse('idempotency_conflict', { reason: 'belongs to a request that is still running' });
}

/**
 * Runs `create` once for its key. For 10 minutes the same caller, route and key get the first answer again (docs/behavior/requests.md#idempotency). `run` gets
 * the id of the resource. After a crash it runs again with the same id, so it must accept an existing resource of that id as its own. Refuses with
 * `idempotency_conflict` if the body differs or the first call still runs.
 */
export async function runOnce(platform: Platform, create: KeyedCreate, run: (id: string) => Promise<KeptAnswer>): Promise<KeptAnswer> {
  const holder = randomUUID();
  const mine = { _id: claimOf(create), holder };
  try {
    const held = await claim(platform, create, holder);
    if ('status' in held) return held;
    const answer = await run(held.resourceId);
    const body = create.secret ? seal(platform.config.APP_KEY, answer.body) : answer.body;
    await platform.db.idempotency.updateOne(mine, { $set: { answer: { status: answer.status, body, sealed: create.secret } } });
    return answer;
  } catch (error) {
    // A refusal stored nothing, so the key is released. Any other error may have stored something, so the next call must use the same id.
    if (isUnavailable(error) || !(error instanceof Error && error.name.startsWith('Refusal'))) {
      platform.cache.set(failedCall(holder), {});
      await platform.db.idempotency.updateOne(mine, { $set: { claimedAt: new Date(0) } }).catch(() => undefined);
    } else await platform.db.idempotency.deleteOne(mine).catch(() => undefined);
    throw error;
  }
}
