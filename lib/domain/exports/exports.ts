import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Export, ExportInput } from '../../contract/auth.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { ExportDoc } from '../../store/mongo/models/export.ts';
import type { FilesPlatform } from '../../store/platform.ts';
import type { Actor } from '../access/checks.ts';
import { requireOwnFactors } from '../accounts/own-password.ts';
import type { Client } from '../accounts/sessions.ts';
import { deleteParts, openParts } from './parts.ts';

/** After how long the sweep takes an export whose job may be lost, in milliseconds. */
export const jobLostMs = 30_000;
/** How long the document of a deleted export stays at least, in milliseconds, so that what a paused worker may have stored meanwhile is deleted, too. */
const lateWritesMs = 10 * 60_000;
/** How often a request is decided again when others of the same account change the export at the same time. */
const triesMax = 20;

/** An export that the person sees. */
type ShownExport = ExportDoc & { state: Exclude<ExportDoc['state'], 'deleted'> };

const toExport = ({ _id, state, createdAt, expiresAt, bytes }: ShownExport): Export => ({
  id: _id,
  state,
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt?.toISOString() ?? null,
  bytes,
});

const isShown = ({ now }: FilesPlatform, doc: ExportDoc): doc is ShownExport =>
  doc.state !== 'deleted' && (doc.expiresAt === null || doc.expiresAt.getTime() > now());

const isUnderWay = (doc: ExportDoc): doc is ShownExport => doc.state === 'waiting' || doc.state === 'running';

function newExport(platform: FilesPlatform, accountId: string): ShownExport {
  const createdAt = new Date(platform.now());
  const after = (ms: number): Date => new Date(createdAt.getTime() + ms);
  return {
    _id: platform.ids.next(),
    accountId,
    key: randomBytes(16).toString('hex'),
    state: 'waiting',
    attempts: 0,
    parts: [],
    bytes: null,
    createdAt,
    nextAt: after(limits.exportIntervalMs),
    expiresAt: null,
    dueAt: after(jobLostMs),
  };
}

/**
 * Requests an export of the caller's data, which a worker makes. While one is waiting or running, returns that one. Refuses as
 * `requireOwnFactors` does, and with `exported_recently` within 24 hours after the last request, unless that one has failed. The unique index on the account
 * allows one export also for simultaneous requests.
 */
export async function requestExport(
  platform: FilesPlatform,
  { id }: Actor,
  { password, code }: ExportInput,
  client: Client,
): Promise<Export> {
  await requireOwnFactors(platform, id, { password, code }, client, '/password');
  const { exports } = platform.db;
  for (let tries = 1; tries <= triesMax; tries++) {
    const existing: ExportDoc | null = await exports.findOne({ accountId: id });
    if (existing && isUnderWay(existing)) return toExport(existing);
    const waitMs = (existing?.nextAt.getTime() ?? 0) - platform.now();
    if (waitMs > 0) refuse('exported_recently', { hours: Math.ceil(waitMs / 3_600_000) }, { retryAfter: Math.ceil(waitMs / 1000) });
    if (existing) await replaceExport(platform, existing);
    const doc = newExport(platform, id);
    if (!(await insertNew(exports, doc))) continue;
    platform.jobs.tryEnqueue('export-account', { exportId: doc._id });
    return toExport(doc);
  }
  return refuse('unavailable');
}

/** The caller's export; null when there is none, or when it was deleted. */
export async function getExport(platform: FilesPlatform, { id }: Actor): Promise<Export | null> {
  const doc: ExportDoc | null = await platform.db.exports.findOne({ accountId: id });
  return doc && isShown(platform, doc) ? toExport(doc) : null;
}

/** Opens the archive of the caller's export. Refuses with 404 unless it is ready. */
export async function openExport(platform: FilesPlatform, { id }: Actor): Promise<{ stream: Readable; bytes: number; createdAt: Date }> {
  const doc: ExportDoc | null = await platform.db.exports.findOne({ accountId: id, state: 'ready' });
  const stream = doc && isShown(platform, doc) ? await openParts(platform, doc) : null;
  return doc && stream ? { stream, bytes: doc.bytes ?? 0, createdAt: doc.createdAt } : refuse('not_found', { what: 'export' });
}

/** Marks an export as deleted, unless its state has changed since it was read. Returns it as it is then; null if another call was faster. */
const markDeleted = (platform: FilesPlatform, { _id, state }: ExportDoc, keepUntilMs: number): Promise<ExportDoc | null> =>
  platform.db.exports.findOneAndUpdate(
    { _id, state },
    { $set: { state: 'deleted', keepUntil: new Date(keepUntilMs), dueAt: new Date(platform.now()) } },
    { returnDocument: 'after' },
  );

/** Deletes the parts of a deleted export, and its document once it need not be kept. A crash leaves the document, which the sweep finds. */
export async function finishDeletion(platform: FilesPlatform, doc: ExportDoc): Promise<void> {
  const { exports } = platform.db;
  await deleteParts(platform, doc);
  const keepUntil = doc.keepUntil ?? new Date(0);
  if (keepUntil.getTime() > platform.now()) await exports.updateOne({ _id: doc._id, state: 'deleted' }, { $set: { dueAt: keepUntil } });
  else await exports.deleteOne({ _id: doc._id, state: 'deleted' });
}

/** Deletes an export with its document, unless its state has changed since it was read. */
export async function replaceExport(platform: FilesPlatform, doc: ExportDoc): Promise<void> {
  const marked = await markDeleted(platform, doc, platform.now());
  if (marked) await finishDeletion(platform, marked);
}

/** Deletes an export of any state, and stops the worker that writes it. The document stays until `keepUntilMs`, and some minutes at least. */
async function discardExport(platform: FilesPlatform, accountId: string, keepUntilMs: (doc: ExportDoc) => number): Promise<boolean> {
  for (let tries = 1; tries <= triesMax; tries++) {
    const doc: ExportDoc | null = await platform.db.exports.findOne({ accountId });
    if (!doc || doc.state === 'deleted') return false;
    const marked = await markDeleted(platform, doc, Math.max(keepUntilMs(doc), platform.now() + lateWritesMs));
    if (!marked) continue;
    await finishDeletion(platform, marked).catch((error: unknown) =>
      platform.log.warn({ err: error }, 'an export could not be removed; the sweep will remove it'),
    );
    return true;
  }
  return refuse('unavailable');
}

/** Deletes the caller's export, also while a worker makes it. It still counts for how soon another one can be requested. Refuses with 404 if there is none. */
export async function deleteExport(platform: FilesPlatform, { id }: Actor): Promise<void> {
  if (!(await discardExport(platform, id, ({ nextAt }) => nextAt.getTime()))) refuse('not_found', { what: 'export' });
}

/** Deletes the export of an account that is being deleted. Running it again changes nothing. */
export const deleteExportsOf = async (platform: FilesPlatform, accountId: string): Promise<void> => {
  await discardExport(platform, accountId, () => 0);
};
