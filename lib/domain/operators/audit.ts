import { Refusal } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { OperatorAuditDoc } from '../../store/mongo/models/operator-audit.ts';
import type { Platform } from '../../store/platform.ts';
import { toDurationMs } from '../retention.ts';

/** The outcome of a command, as the audit log keeps it. */
export interface AuditedOutcome {
  readonly isChanged: boolean;
  readonly targetId?: string;
}

/**
 * Runs `work`, which changes something for an operator, with an entry in the operators' audit log (docs/operations.md#operators-audit-log). The entry is stored
 * before and gets its outcome after, so that nothing is changed without an entry. Returns what `work` returns.
 */
export async function runAudited<T>(
  platform: Platform,
  { operator, command, given }: Pick<OperatorAuditDoc, 'operator' | 'command' | 'given'>,
  work: () => Promise<T>,
  describe: (result: T) => AuditedOutcome,
): Promise<T> {
  const { operatorAudit } = platform.db;
  const _id = platform.ids.next();
  const at = new Date(platform.now());
  const expiresAt = new Date(at.getTime() + toDurationMs(platform.config.OPERATOR_AUDIT_RETENTION_DAYS));
  await operatorAudit.insertOne({ _id, at, operator, command, given, outcome: 'started', expiresAt });
  const finish = (set: Partial<OperatorAuditDoc>): Promise<unknown> => operatorAudit.updateOne({ _id }, { $set: set });
  try {
    const result = await work();
    const { isChanged, targetId } = describe(result);
    await finish({ outcome: isChanged ? 'done' : 'unchanged', ...(targetId === undefined ? {} : { targetId }) });
    return result;
  } catch (error) {
    if (error instanceof Refusal) await finish({ outcome: error.code });
    throw error; // after any other error it is not known what was changed, so the entry stays `started`
  }
}

/** A page of the operators' audit log, newest first. `next` is the `before` of the next page; null on the last one. */
export async function listOperatorAudit(
  { db }: Platform,
  { before, limit = limits.operatorPageDefault }: { before?: string; limit?: number },
): Promise<{ items: OperatorAuditDoc[]; next: string | null }> {
  const found = await db.operatorAudit
    .find(before === undefined ? {} : { _id: { $lt: before } })
    .sort({ _id: -1 })
    .limit(limit + 1)
    .toArray();
  const items = found.slice(0, limit);
  return { items, next: found.length > limit ? (items.at(-1)?._id ?? null) : null };
}
