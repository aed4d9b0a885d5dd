import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { retentionDaysMax } from '../../config/setting.ts';
import { limits } from '../../lib/base/limits.ts';
import type { MessagesChoice } from '../../lib/contract/account-deletion.ts';
import { type ServerType, serverTypes } from '../../lib/contract/server.ts';
import type { ChangeCommand } from '../../lib/domain/operators/changes.ts';
import { type ReindexStart, reindexParts } from '../../lib/domain/operators/reindex-parts.ts';
import { parseNumber } from './arguments.ts';
import { addBackupCommands, type BackupCommand } from './backup-commands.ts';
import { exitCodes } from './result.ts';

/** One command with its arguments. Ids are not checked yet. */
export type OperatorCommand =
  | { command: 'server-types'; serverId: string; types: ServerType[] }
  | { command: 'verify-bot'; applicationId: string; undo?: boolean }
  | { command: 'tag'; userId: string; tag: 'official' | 'none' }
  | { command: 'early-access'; userId: string; undo?: boolean }
  | { command: 'rotate-key' }
  | { command: 'migrate' }
  | { command: 'reindex'; after?: ReindexStart }
  | BackupCommand
  | ChangeCommand
  | ListCommand;

/** A command that uses the whole platform. */
export type PlatformCommand = Exclude<OperatorCommand, { command: 'migrate' } | BackupCommand>;

/** A command that changes nothing. */
export type ListCommand =
  | { command: 'accounts' | 'servers'; query?: string; after?: string; limit?: number }
  | { command: 'account'; userId: string }
  | { command: 'storage'; after?: string; limit?: number }
  | { command: 'audit'; before?: string; limit?: number };

/** A parsed command line. `usage` means that it is not valid. */
export type ParsedLine =
  | { kind: 'command'; command: OperatorCommand; as?: string }
  | { kind: 'help'; text: string }
  | { kind: 'usage'; text: string };

const exitCodeHelp = `
Exit codes:
  ${exitCodes.done}   done, or nothing had to change
  ${exitCodes.refused}   refused: the server, account or application does not exist, the grant does not apply to it, or the backup cannot be used
  ${exitCodes.usage}  the command line is not valid
  ${exitCodes.unavailable}  the database or Redis is unavailable; commands can be repeated safely
  ${exitCodes.internal}  an internal error
  ${exitCodes.configuration}  a setting is missing or invalid, or APP_KEY or this version does not match the database`;

function parseTypes(text: string): ServerType[] {
  if (text === 'none') return [];
  return text.split(',').map((one) => {
    const type = serverTypes.find((known) => known === one.trim());
    if (!type) throw new InvalidArgumentError(`Types are ${serverTypes.join(', ')}, separated by commas, or none.`);
    return type;
  });
}

function parsePosition(text: string): ReindexStart {
  const [, name, after = ''] = /^([a-z]+):([0-9:]{0,39})$/.exec(text) ?? [];
  const part = reindexParts.find((known) => known === name);
  if (!part) throw new InvalidArgumentError(`Use <part>:<id>, as printed; parts are ${reindexParts.join(', ')}.`);
  return { part, after };
}

const parseText =
  (maxChars: number) =>
  (text: string): string => {
    if (text.trim() === '' || text.length > maxChars) throw new InvalidArgumentError(`Use 1 to ${maxChars} characters.`);
    return text;
  };

const parseLimit = parseNumber(limits.operatorPageMax);

const parseNumberOfDays = parseNumber(retentionDaysMax, ', off or default');
const parseDays = (text: string): number | 'off' | 'default' => (text === 'off' || text === 'default' ? text : parseNumberOfDays(text));

/** Adds the commands that list accounts, servers and the audit log. */
function addListCommands(program: Command, take: (command: OperatorCommand) => void): void {
  type Page = { after?: string; limit?: number };
  const help = `how many to list: 1 to ${limits.operatorPageMax}, by default ${limits.operatorPageDefault}`;
  for (const [command, about] of [
    ['accounts', 'list people by username, or those whose username begins with a text, or the account with an id'],
    ['servers', 'list servers, oldest first, or those whose name begins with a text, or the server with an id'],
  ] as const)
    program
      .command(command)
      .description(about)
      .argument('[query]', 'the beginning of the name, or an id', parseText(limits.operatorTextChars))
      .option('--after <cursor>', 'continue after the end of a page', parseText(limits.operatorTextChars))
      .option('--limit <n>', help, parseLimit)
      .action((query: string | undefined, page: Page) => take({ command, ...(query === undefined ? {} : { query }), ...page }));
  program
    .command('account <userId>')
    .description('show an account: sessions, two-factor authentication, servers, applications, suspension, deletion')
    .action((userId: string) => take({ command: 'account', userId }));
  program
    .command('storage')
    .description('list the servers that store files, largest first')
    .option('--after <serverId>', 'continue after the end of a page', parseText(limits.operatorTextChars))
    .option('--limit <n>', help, parseLimit)
    .action((page: Page) => take({ command: 'storage', ...page }));
  program
    .command('audit')
    .description('list the commands that operators ran, newest first')
    .option('--before <id>', 'continue before an entry', parseText(limits.operatorTextChars))
    .option('--limit <n>', help, parseLimit)
    .action((page: { before?: string; limit?: number }) => take({ command: 'audit', ...page }));
}

/** Adds the commands that change accounts and servers. */
function addChangeCommands(program: Command, take: (command: OperatorCommand) => void): void {
  program
    .command('suspend <userId>')
    .description('suspend a person: ends all sessions, refuses logins, and refuses the tokens of the person’s bots')
    .option('--reason <text>', 'a note for operators', parseText(limits.suspensionReasonChars))
    .action((userId: string, options: { reason?: string }) => take({ command: 'suspend', userId, ...options }));
  for (const [command, about] of [
    ['unsuspend', 'end the suspension of a person'],
    ['reset-password', 'print a link with which a person chooses a new password, once, within an hour'],
    ['reset-two-factor', 'turn off the two-factor authentication of a person who lost the device and the recovery codes'],
    ['unlink-sign-in', 'unlink the account of the OpenID Connect provider that logs a person in; sessions stay'],
    ['end-sessions', 'end all sessions of a person'],
  ] as const)
    program
      .command(`${command} <userId>`)
      .description(about)
      .action((userId: string) => take({ command, userId }));
  program
    .command('delete-account <userId>')
    .description('delete the account of a person after the grace period; refused while the person owns servers')
    .addOption(
      new Option('--messages <choice>', 'what happens to the messages; default: as the person chose, or keep').choices(['keep', 'delete']),
    )
    .option('--now', 'without a grace period; this cannot be undone')
    .action((userId: string, options: { messages?: MessagesChoice; now?: boolean }) =>
      take({ command: 'delete-account', userId, ...options }),
    );
  program
    .command('keep-account <userId>')
    .description('cancel the deletion of an account during the grace period')
    .action((userId: string) => take({ command: 'keep-account', userId }));
  program
    .command('create-server')
    .description('create a server of a person, unless the person owns one of this name')
    .argument('<name>', 'the name of the server', parseText(limits.nameChars))
    .requiredOption('--owner <userId>', 'the person who will own it')
    .action((name: string, { owner }: { owner: string }) => take({ command: 'create-server', name, owner }));
  program
    .command('transfer-server <serverId> <userId>')
    .description('make a person who is in the server its owner')
    .action((serverId: string, userId: string) => take({ command: 'transfer-server', serverId, userId }));
  program
    .command('retention <serverId>')
    .description('delete the messages of a server after a number of days; off: never; default: as MESSAGE_RETENTION_DAYS says')
    .argument('<days>', `1 to ${retentionDaysMax}, off or default`, parseDays)
    .action((serverId: string, days: number | 'off' | 'default') => take({ command: 'retention', serverId, days }));
  program
    .command('delete-server <serverId>')
    .description('delete a server with everything in it')
    .action((serverId: string) => take({ command: 'delete-server', serverId }));
}

function createProgram(take: (command: OperatorCommand) => void): Command {
  const program = new Command('operator')
    .description(
      'Manages accounts and servers, grants server types, tags and badges, re-encrypts secrets, and migrates and backs up the database. Changes take effect at once.',
    )
    .option('--json', 'print one JSON object: { "ok": true, … } or { "ok": false, "error": { "code", "message" } }')
    .option(
      '--as <name>',
      'the name of the operator in the audit log; default: the user of the operating system',
      parseText(limits.operatorTextChars),
    )
    .configureHelp({ helpWidth: 160 }) // one line each
    .addHelpText('after', exitCodeHelp)
    .showHelpAfterError('Run `operator help` to list the commands.');
  program
    .command('server-types <serverId>')
    .description(`replace the types of a server; possible types: ${serverTypes.join(', ')}, or none`)
    .argument('<type,…>', 'types, separated by commas, or none', parseTypes)
    .action((serverId: string, types: ServerType[]) => take({ command: 'server-types', serverId, types }));
  program
    .command('verify-bot <applicationId>')
    .description('give the bot of an application the tag verified_bot')
    .option('--undo', 'remove the tag')
    .action((applicationId: string, options: { undo?: boolean }) => take({ command: 'verify-bot', applicationId, ...options }));
  program
    .command('tag <userId>')
    .description('give a person or bot the tag official; none removes it')
    .addArgument(new Argument('<tag>').choices(['official', 'none']))
    .action((userId: string, tag: 'official' | 'none') => take({ command: 'tag', userId, tag }));
  program
    .command('early-access <userId>')
    .description('give a person the early access badge')
    .option('--undo', 'remove the badge')
    .action((userId: string, options: { undo?: boolean }) => take({ command: 'early-access', userId, ...options }));
  program
    .command('rotate-key')
    .description('re-encrypt with APP_KEY every secret that is encrypted with a key of APP_KEYS_OLD')
    .action(() => take({ command: 'rotate-key' }));
  program
    .command('migrate')
    .description('create missing indexes and run pending migrations; run it before the processes of a new version start')
    .action(() => take({ command: 'migrate' }));
  program
    .command('reindex')
    .description('correct what is derived from other data: texts of searches, counts, memberships and used storage; Parlance may run')
    .option('--after <position>', 'go on from a position that an interrupted run has printed', parsePosition)
    .action((options: { after?: ReindexStart }) => take({ command: 'reindex', ...options }));
  addBackupCommands(program, take);
  addListCommands(program, take);
  addChangeCommands(program, take);
  return program;
}

/** Parses the arguments of a command line (without Node and the script). Opens and changes nothing. */
export function parseCommandLine(args: readonly string[]): ParsedLine {
  let command: OperatorCommand | undefined;
  let text = '';
  const write = (piece: string): void => {
    text += piece;
  };
  const program = createProgram((parsed) => {
    command = parsed;
  });
  for (const one of [program, ...program.commands]) one.exitOverride().configureOutput({ writeOut: write, writeErr: write });
  try {
    program.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { kind: error.exitCode === 0 ? 'help' : 'usage', text: text.trim().replace(/^error: /, '') };
  }
  const { as } = program.opts<{ as?: string }>();
  return command
    ? { kind: 'command', command, ...(as === undefined ? {} : { as }) }
    : { kind: 'usage', text: program.helpInformation().trim() };
}
