import { userInfo } from 'node:os';
import { readConfigOrExit } from '../../config/index.ts';
import type { WakePlatform } from '../../lib/store/platform.ts';
import { isBackupCommand } from './backup-commands.ts';
import { parseCommandLine } from './commands.ts';
import { exitCodes, failure, type Result } from './result.ts';

/*
 * `npm run operator -- <command>`: the operators' command line. It runs one command and exits with the exit code of its result
 * (docs/operations.md#operator-commands).
 */
const args = process.argv.slice(2);
/** Commands that may take longer than others, because there may be much to do. */
const longCommands: readonly string[] = ['rotate-key', 'reindex', 'delete-server'];
const isJson = args.includes('--json');

/** The user of the operating system; `uid` and its number in a container that has no name for it. */
function readUserName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Prints the result and then exits, even if connections are still open. With `isStdoutUsed` it goes to stderr, because stdout is the backup. */
function exitWith({ exitCode, json, text }: Result, isStdoutUsed = false): void {
  const stream = (isJson || json.ok) && !isStdoutUsed ? process.stdout : process.stderr;
  stream.write(`${isJson ? JSON.stringify(json) : text}\n`, () => process.exit(exitCode));
}

const parsed = parseCommandLine(args);
switch (parsed.kind) {
  case 'help':
    exitWith({ exitCode: exitCodes.done, json: { ok: true, help: parsed.text }, text: parsed.text });
    break;
  case 'usage':
    exitWith(failure(exitCodes.usage, 'usage', parsed.text));
    break;
  case 'command': {
    const { command, as: operator = readUserName() } = parsed;
    const report = (line: string): void => void (isJson || process.stderr.write(`${line}\n`));
    const readConfig = () => readConfigOrExit((message) => exitWith(failure(exitCodes.configuration, 'configuration', message)));
    if (isBackupCommand(command)) {
      const { runBackupCommand } = await import('./backup.ts');
      exitWith(await runBackupCommand(command, readConfig, report), command.command === 'backup' && command.to === '-');
      break;
    }
    const config = readConfig();
    // Loaded only here, because these modules take a second to load, and help and usage errors do not need the stores.
    const [{ runWithDatabase, runWithPlatform }, { executeCommand }, { executeMigrate }] = await Promise.all([
      import('./run.ts'),
      import('./execute.ts'),
      import('./migrate.ts'),
    ]);
    if (command.command === 'migrate') exitWith(await runWithDatabase(config, (db) => executeMigrate(db, config, report)));
    else {
      const work = (platform: WakePlatform): Promise<Result> => executeCommand(platform, command, { operator, report });
      exitWith(await runWithPlatform(config, work, { isLong: longCommands.includes(command.command) }));
    }
  }
}
