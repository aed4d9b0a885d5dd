import { Argument, Command, CommanderError, InvalidArgumentError } from 'commander';
import { type ServerType, serverTypes } from '../../lib/contract/server.ts';
import { exitCodes } from './result.ts';

/** One command with its arguments. Ids are not checked yet. */
export type OperatorCommand =
  | { command: 'server-types'; serverId: string; types: ServerType[] }
  | { command: 'verify-bot'; applicationId: string; undo?: boolean }
  | { command: 'tag'; userId: string; tag: 'official' | 'none' }
  | { command: 'early-access'; userId: string; undo?: boolean }
  | { command: 'rotate-key' }
  | { command: 'migrate' };

/** A command that uses the whole platform. `migrate` makes the database fit for it. */
export type PlatformCommand = Exclude<OperatorCommand, { command: 'migrate' }>;

/** A parsed command line. `usage` means that it is not valid. */
export type ParsedLine = { kind: 'command'; command: OperatorCommand } | { kind: 'help'; text: string } | { kind: 'usage'; text: string };

const exitCodeHelp = `
Exit codes:
  ${exitCodes.done}   done, or nothing had to change
  ${exitCodes.refused}   refused: the server, account or application does not exist, or the grant does not apply to it
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

function createProgram(take: (command: OperatorCommand) => void): Command {
  const program = new Command('operator')
    .description('Grants server types, tags and badges, re-encrypts secrets and migrates the database. Changes take effect at once.')
    .option('--json', 'print one JSON object: { "ok": true, … } or { "ok": false, "error": { "code", "message" } }')
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
  return command ? { kind: 'command', command } : { kind: 'usage', text: program.helpInformation().trim() };
}
