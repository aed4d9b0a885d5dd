import type { Command } from 'commander';
import { parseNumber } from './arguments.ts';

/** A command that makes, checks or restores a backup. `-` is stdout or stdin. */
export type BackupCommand =
  | { command: 'backup'; to: string; keep?: number }
  | { command: 'verify-backup'; from: string }
  | { command: 'restore'; from: string; resume?: boolean };

const names: readonly string[] = ['backup', 'verify-backup', 'restore'] satisfies BackupCommand['command'][];

/** Whether a command makes, checks or restores a backup. */
export const isBackupCommand = (command: { command: string }): command is BackupCommand => names.includes(command.command);

/** How many backups `--keep` may name. */
const maxKept = 1_000;

/** Adds the commands that make, check and restore backups. */
export function addBackupCommands(program: Command, take: (command: BackupCommand) => void): void {
  program
    .command('backup <to>')
    .description('write the database and all files to a new file, a new file in a folder, or - for stdout; Parlance may keep running')
    .option('--keep <n>', 'in a folder: keep the newest n backups and delete the others', parseNumber(maxKept))
    .action((to: string, options: { keep?: number }) => take({ command: 'backup', to, ...options }));
  program
    .command('verify-backup <from>')
    .description('check that a backup, - for stdin, is complete and undamaged; uses no stores')
    .action((from: string) => take({ command: 'verify-backup', from }));
  program
    .command('restore <from>')
    .description('restore a backup, - for stdin, into empty stores, while Parlance is stopped')
    .option('--resume', 'continue an interrupted restore of the same backup')
    .action((from: string, options: { resume?: boolean }) => take({ command: 'restore', from, ...options }));
}
