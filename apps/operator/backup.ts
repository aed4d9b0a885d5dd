import { readFileSync } from 'node:fs';
import type { Config } from '../../config/index.ts';
import type { Report } from '../../lib/base/progress.ts';
import { writeBackup } from '../../lib/domain/backup/backup.ts';
import { type BackupManifest, type BackupSummary, formatFileBytes } from '../../lib/domain/backup/contents.ts';
import { verifyBackup } from '../../lib/domain/backup/reader.ts';
import { restoreBackup } from '../../lib/domain/backup/restore.ts';
import type { BackupCommand } from './backup-commands.ts';
import { openDestination, openSource } from './backup-files.ts';
import { exitCodes, type Result } from './result.ts';
import { runWithBackupPlatform, runWithRestorePlatform, toResult } from './run.ts';

function readVersion(): string {
  const path = import.meta.url.endsWith('.ts') ? '../../package.json' : '../../../package.json';
  return (JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as { version: string }).version;
}

/** The contents of a backup in one phrase. */
function describe({ documents, files }: BackupSummary): string {
  const total = Object.values(documents).reduce((sum, count) => sum + count, 0);
  return `${total} documents, ${files.count} files (${formatFileBytes(files.bytes)})`;
}

const listed = 20;
const list = (names: readonly string[]): string =>
  `${names.slice(0, listed).join(', ')}${names.length > listed ? ` and ${names.length - listed} more` : ''}`;

/** A successful result of `command` on a backup. */
function toDone(
  command: BackupCommand['command'],
  { id, parlance, createdAt, documents, files, missingFiles }: BackupManifest & BackupSummary,
  more: Record<string, unknown>,
  text: string,
): Result {
  const json = { ok: true, command, id, parlance, createdAt, documents, files, missingFiles, ...more };
  return { exitCode: exitCodes.done, json, text };
}

const backUp = (config: Config, { to, keep }: Extract<BackupCommand, { command: 'backup' }>, report: Report): Promise<Result> =>
  runWithBackupPlatform(config, async (platform) => {
    const { output, path, complete, discard } = await openDestination(to, keep);
    try {
      const written = await writeBackup(platform, output, readVersion(), report);
      const removed = await complete();
      const missing = written.missingFiles ? ` The bytes of ${written.missingFiles} files were not in the file store.` : '';
      const text = `Backup written to ${path}: ${describe(written)}.${missing}${removed.length ? ` Deleted: ${list(removed)}.` : ''}`;
      return toDone('backup', written, { path, removed }, text);
    } catch (error) {
      await discard();
      throw error;
    }
  });

const restore = (
  config: Config,
  { from, resume = false }: Extract<BackupCommand, { command: 'restore' }>,
  report: Report,
): Promise<Result> =>
  runWithRestorePlatform(config, async (platform) => {
    const { refused, ...restored } = await restoreBackup(platform, await openSource(from), resume, report);
    const lost = refused.length ? ` Left out, because others have their unique values: ${list(refused)}.` : '';
    const text = `Restored the backup of ${restored.createdAt}: ${describe(restored)}.${lost} Start Parlance now.`;
    return toDone('restore', restored, { refused }, text);
  });

async function verify(from: string, report: Report): Promise<Result> {
  const verified = await verifyBackup((await openSource(from)).open(), report);
  const text = `The backup of ${verified.createdAt} by Parlance ${verified.parlance} is complete and undamaged: ${describe(verified)}.`;
  return toDone('verify-backup', verified, {}, text);
}

/** Executes a command that makes, checks or restores a backup, and reports its progress line by line. Never rejects: every error becomes a `Result`. */
export function runBackupCommand(command: BackupCommand, readConfig: () => Config, report: Report): Promise<Result> {
  switch (command.command) {
    case 'backup':
      return backUp(readConfig(), command, report);
    case 'restore':
      return restore(readConfig(), command, report);
    case 'verify-backup':
      return verify(command.from, report).catch(toResult);
  }
}
