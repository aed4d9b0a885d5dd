import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { each, sweepDue } from '../../store/mongo/due.ts';
import type { ExportDoc } from '../../store/mongo/models/export.ts';
import type { EnqueuePlatform, FilesPlatform, WorkerPlatform } from '../../store/platform.ts';
import { postSystemMessage } from '../members/notices.ts';
import { createExportArchive } from './archive.ts';
import { writeContents } from './contents.ts';
import { finishDeletion, jobLostMs, replaceExport } from './exports.ts';
import { deleteParts, storeParts } from './parts.ts';

/** How long a worker may be silent before its attempt is given up, and how often it renews its lease, in milliseconds. */
const leaseMs = 30_000;
const renewalMs = 10_000;
/** The first and the longest wait before an attempt is repeated, in milliseconds. The wait doubles after each attempt. */
const backoff = { firstMs: 60_000, maxMs: 60 * 60_000 };

const announcement =
  'Your data is ready. Download it in your settings, under “Your data”, within 7 days.\nIf you did not request it, change your password: somebody else knows it.';

/** This attempt is not the last one of its export any more, or the export was deleted. */
class ExportLost extends Error {}

/** The filter of an export while `doc`, as it was claimed, is its last attempt. */
const claimOf = ({ _id, attempts }: ExportDoc) => ({ _id, attempts, state: 'running' as const });

const msFromNow = ({ now }: FilesPlatform, ms: number): Date => new Date(now() + ms);

/**
 * Writes the archive of an export, stores it, and tells the person. Does nothing if another worker does it or it has ended. Rejects if a store fails; the sweep
 * then repeats it. If this worker stops meanwhile, another one begins again.
 */
export async function runExport(platform: WorkerPlatform, exportId: string): Promise<void> {
  const { exports } = platform.db;
  const claimed: ExportDoc | null = await exports.findOneAndUpdate(
    { _id: exportId, state: 'waiting' },
    { $set: { state: 'running', dueAt: msFromNow(platform, leaseMs) }, $inc: { attempts: 1 }, $push: { parts: 0 } },
    { returnDocument: 'after' },
  );
  if (!claimed) return;
  let bytes: number;
  try {
    bytes = await writeArchive(platform, claimed);
  } catch (error) {
    if (error instanceof ExportLost) return;
    await endAttempt(platform, claimed, platform.stopping.aborted ? 0 : computeBackoffMs(claimed.attempts));
    if (platform.stopping.aborted) return;
    throw error;
  }
  const ready: ExportDoc | null = await exports.findOneAndUpdate(
    claimOf(claimed),
    { $set: { state: 'ready', bytes, expiresAt: msFromNow(platform, limits.exportLifeMs), dueAt: msFromNow(platform, 0) } },
    { returnDocument: 'after' },
  );
  failpoint(platform.config, 'after-export-ready');
  if (!ready) return;
  await announce(platform, ready);
  await deleteParts(platform, ready, ready.attempts);
}

const computeBackoffMs = (attempts: number): number => Math.min(backoff.firstMs * 2 ** (attempts - 1), backoff.maxMs);

/** Writes the archive and stores its parts, and renews the lease meanwhile. Returns the size. Rejects with `ExportLost` when the claim is lost. */
async function writeArchive(platform: WorkerPlatform, claimed: ExportDoc): Promise<number> {
  const { exports } = platform.db;
  const account = await platform.db.accounts.findOne({ _id: claimed.accountId });
  if (!account) {
    await replaceExport(platform, claimed);
    throw new ExportLost('the account was deleted');
  }
  const stop = new AbortController();
  const archive = createExportArchive(stop.signal);
  const renew = async (set: Record<string, number> = {}): Promise<void> => {
    const { matchedCount } = await exports.updateOne(claimOf(claimed), { $set: { ...set, dueAt: msFromNow(platform, leaseMs) } });
    if (matchedCount === 0) throw new ExportLost('the export was deleted, or another worker has taken it over');
  };
  const fail = (error: unknown): void => {
    stop.abort(error);
    archive.abort(error as Error);
  };
  const onStopping = (): void => fail(new Error('the worker is stopping'));
  platform.stopping.addEventListener('abort', onStopping);
  // A failed renewal is repeated; when the lease has expired, the next part finds out.
  const timer = setInterval(() => void renew().catch((error: unknown) => error instanceof ExportLost && fail(error)), renewalMs);
  try {
    if (platform.stopping.aborted) onStopping();
    const stored = storeParts(platform, claimed, archive.output, async (part) => {
      await renew({ [`parts.${claimed.attempts - 1}`]: part });
      failpoint(platform.config, part === 1 ? 'after-export-part-record' : 'after-export-part');
    });
    const written = writeContents(platform, account, archive).then(() => archive.end());
    written.catch(fail);
    stored.catch(fail);
    // Both have ended before the attempt ends, so nothing of it is stored later.
    const [bytes, contents] = await Promise.allSettled([stored, written]);
    if (stop.signal.aborted) throw stop.signal.reason;
    if (contents.status === 'rejected') throw contents.reason;
    if (bytes.status === 'rejected') throw bytes.reason;
    return bytes.value;
  } finally {
    clearInterval(timer);
    platform.stopping.removeEventListener('abort', onStopping);
  }
}

/** Ends an attempt that has failed: the export waits for the next one, or has failed after the last. Its parts are deleted. */
async function endAttempt(platform: FilesPlatform, doc: ExportDoc, waitMs: number): Promise<void> {
  const hasFailed = doc.attempts >= limits.exportAttempts;
  const set = hasFailed
    ? { state: 'failed' as const, nextAt: doc.createdAt, dueAt: new Date(doc.createdAt.getTime() + limits.exportLifeMs) }
    : { state: 'waiting' as const, dueAt: msFromNow(platform, waitMs) };
  const ended: ExportDoc | null = await platform.db.exports.findOneAndUpdate(claimOf(doc), { $set: set }, { returnDocument: 'after' });
  if (hasFailed) platform.log.error({ exportId: doc._id }, 'the export of an account has failed; the person can request it again');
  if (ended) await deleteParts(platform, ended);
}

/** Tells the person, once, that an export is ready. */
async function announce(platform: EnqueuePlatform, { _id, accountId, expiresAt }: ExportDoc): Promise<void> {
  await postSystemMessage(platform, accountId, _id, announcement);
  await platform.db.exports.updateOne({ _id, state: 'ready' }, { $set: { announced: true, dueAt: expiresAt as Date } });
}

/** Continues an export whose time has come: repeats lost work, tells the person, or deletes what has expired. */
async function advanceExport(platform: WorkerPlatform, doc: ExportDoc): Promise<void> {
  const { _id, state } = doc;
  if (state === 'running') return endAttempt(platform, doc, 0); // its worker died, or was paused
  if (state === 'ready' && !doc.announced) return announce(platform, doc);
  if (state === 'deleted') return finishDeletion(platform, doc);
  if (state !== 'waiting') return replaceExport(platform, doc);
  // A job that is still on the queue keeps its position there.
  if (!(await platform.jobs.isQueued('export-account', { exportId: _id })))
    await platform.jobs.enqueue('export-account', { exportId: _id });
  await platform.db.exports.updateOne({ _id, state }, { $set: { dueAt: msFromNow(platform, jobLostMs) } });
}

/** Continues the exports whose time has come. A failed one does not delay the others; their errors are thrown at the end. */
export const sweepExports = sweepDue({ collection: 'exports', due: 'dueAt', max: 100, run: each(advanceExport) });
