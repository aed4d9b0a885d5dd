import { isBackupCommand } from '../../apps/operator/backup-commands.ts';
import { parseCommandLine } from '../../apps/operator/commands.ts';
import { executeCommand } from '../../apps/operator/execute.ts';
import { executeMigrate } from '../../apps/operator/migrate.ts';
import { exitCodes, failure, type Result } from '../../apps/operator/result.ts';
import { runWithDatabase, runWithPlatform } from '../../apps/operator/run.ts';
import type { Config } from '../../config/index.ts';
import type { WakePlatform } from '../../lib/store/platform.ts';

/** The result of a command, and the lines that it reported. */
export type RunHere = Result & { lines: string[] };

/** Runs a command line of operators in this process on the stores of `config`, which takes much less time than a process. */
export async function runHere(args: readonly string[], config: Config): Promise<RunHere> {
  const lines: string[] = [];
  const report = (line: string): void => void lines.push(line);
  const run = async (): Promise<Result> => {
    const parsed = parseCommandLine(args);
    if (parsed.kind !== 'command') return failure(exitCodes.usage, 'usage', parsed.text);
    const { command } = parsed;
    if (isBackupCommand(command)) {
      const { runBackupCommand } = await import('../../apps/operator/backup.ts');
      return runBackupCommand(command, () => config, report);
    }
    if (command.command === 'migrate') return runWithDatabase(config, (db) => executeMigrate(db, config, report));
    return runWithPlatform(config, (platform) => executeCommand(platform, command, { operator: 'test', report }), { isLong: true });
  };
  return { ...(await run()), lines };
}

/** Runs a command line in this process on `platform`. No worker is woken. Rejects with the refusal of a rule. */
export async function runOn(platform: Omit<WakePlatform, 'wake'>, ...args: string[]): Promise<Result> {
  const parsed = parseCommandLine(args);
  if (parsed.kind !== 'command') return failure(exitCodes.usage, 'usage', parsed.text);
  if (parsed.command.command === 'migrate' || isBackupCommand(parsed.command)) throw new Error(`${parsed.command.command} has no platform`);
  return executeCommand({ ...platform, wake: () => undefined }, parsed.command, { operator: parsed.as ?? 'test' });
}
