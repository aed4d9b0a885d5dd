import { randomUUID } from 'node:crypto';
import { refuse } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { isDuplicate, isUnavailable } from '../store/database.ts';
import type { IdempotencyDoc } from '../store/models/interaction.ts';
import type { Platform } from '../store/platform.ts';
import { seal, sha256, unseal } from '../store/seal.ts';

/** An answer that was, or will be, given to a create. */
export interface KeptAnswer {
  status: number;
  body: string;
}

/** A create under an Idempotency-Key. */
export interface KeyedCreate {
  caller: string;
  /** Method and path, holes filled in: the same key on another route is another key. */
  route: string;
  key: string;
  /** The body's fields; "another body" compares these. */
  body: unknown;
  /** The id the resource shall have if this is the first call. */
  newId: string;
  /** Whether answers hold a secret: they are kept encrypted. */
  secret: boolean;
}

/** A body with its keys in order, so that two orders of the same fields are the same body. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, canonical(inner)]),
  );
}

/** The claim's key. Hashed: a path may hold a secret, such as an interaction's token, and that stands in no store. */
const claimOf = ({ caller, route, key }: KeyedCreate): string => sha256(`${caller}:${route}:${key}`);

/** Marks the claims of calls that failed in this process: whoever repeats such a call need not wait for the 30 s of a dead process. */
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
  // An answer that no key decrypts is lost: the call is run again, with the same id, as after a crash.
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
 * Runs `create` once for its key: the same caller, route and key get the first answer again for 10 minutes (docs/behavior/requests.md#idempotency). `run` gets
 * the id of the resource. After a crash it runs again with the same id, so it must accept an existing resource of that id as its own.
 * Refuses `idempotency_conflict` for another body, or while the first call runs.
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
    // A refusal stored nothing: the key is free again. Any other fault may have stored something: the same id must be used, by whoever comes next.
    if (isUnavailable(error) || !(error instanceof Error && error.name.startsWith('Refusal'))) {
      platform.cache.set(failedCall(holder), {});
      await platform.db.idempotency.updateOne(mine, { $set: { claimedAt: new Date(0) } }).catch(() => undefined);
    } else await platform.db.idempotency.deleteOne(mine).catch(() => undefined);
    throw error;
  }
}
