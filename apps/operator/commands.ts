import { Argument, Command, CommanderError, InvalidArgumentError } from 'commander';
import { type ServerType, serverTypes } from '../../lib/contract/server.ts';
import { exits } from './ending.ts';

/** One command with its arguments. Ids are not checked yet. */
export type Order =
  | { command: 'server-types'; serverId: string; types: ServerType[] }
  | { command: 'verify-bot'; applicationId: string; undo?: boolean }
  | { command: 'tag'; userId: string; tag: 'official' | 'none' }
  | { command: 'early-access'; userId: string; undo?: boolean }
  | { command: 'rotate-key' };

/** The meaning of a command line. `usage` means that it is not valid. */
export type Asked = { kind: 'order'; order: Order } | { kind: 'help'; text: string } | { kind: 'usage'; text: string };

const after = `
Exit codes:
  ${exits.done}   done, also when there was nothing to change
  ${exits.refused}   refused: there is no such server, account or application, or it cannot hold this
  ${exits.usage}  the command line is not right
  ${exits.away}  the database or Redis is away; repeating a command is always safe
  ${exits.fault}  a fault of the program
  ${exits.configuration}  a setting is missing or bad, or APP_KEY is not that of the database: take the settings of the other processes`;

function typesOf(text: string): ServerType[] {
  if (text === 'none') return [];
  return text.split(',').map((one) => {
    const type = serverTypes.find((known) => known === one.trim());
    if (!type) throw new InvalidArgumentError(`Types are ${serverTypes.join(', ')}, separated by commas, or none.`);
    return type;
  });
}

function programOf(take: (order: Order) => void): Command {
  const program = new Command('operator')
    .description('Grants server types, tags and badges. Changes are visible to everyone at once.')
    .option('--json', 'print one JSON object: { "ok": true, … } or { "ok": false, "error": { "code", "message" } }')
    .configureHelp({ helpWidth: 160 }) // one line each
    .addHelpText('after', after)
    .showHelpAfterError('`operator help` lists the commands.');
  program
    .command('server-types <serverId>')
    .description(`give a server these types in place of those it has: ${serverTypes.join(', ')}; or none`)
    .argument('<type,…>', 'the types, separated by commas, or none', typesOf)
    .action((serverId: string, types: ServerType[]) => take({ command: 'server-types', serverId, types }));
  program
    .command('verify-bot <applicationId>')
    .description('give the bot of an application the tag verified_bot')
    .option('--undo', 'take it away')
    .action((applicationId: string, options: { undo?: boolean }) => take({ command: 'verify-bot', applicationId, ...options }));
  program
    .command('tag <userId>')
    .description('give a person or bot the tag official, or take that tag away')
    .addArgument(new Argument('<tag>').choices(['official', 'none']))
    .action((userId: string, tag: 'official' | 'none') => take({ command: 'tag', userId, tag }));
  program
    .command('early-access <userId>')
    .description('give a person the early access badge')
    .option('--undo', 'take it back')
    .action((userId: string, options: { undo?: boolean }) => take({ command: 'early-access', userId, ...options }));
  program
    .command('rotate-key')
    .description('encrypt every secret of the database under APP_KEY that is encrypted under a key of APP_KEYS_OLD')
    .action(() => take({ command: 'rotate-key' }));
  return program;
}

/** Parses the arguments of a command line (without Node and the script). Opens and changes nothing. */
export function readCommand(args: readonly string[]): Asked {
  let order: Order | undefined;
  let text = '';
  const write = (piece: string): void => {
    text += piece;
  };
  const program = programOf((taken) => {
    order = taken;
  });
  for (const one of [program, ...program.commands]) one.exitOverride().configureOutput({ writeOut: write, writeErr: write });
  try {
    program.parse(args, { from: 'user' });
  } catch (fault) {
    if (!(fault instanceof CommanderError)) throw fault;
    return { kind: fault.exitCode === 0 ? 'help' : 'usage', text: text.trim().replace(/^error: /, '') };
  }
  return order ? { kind: 'order', order } : { kind: 'usage', text: program.helpInformation().trim() };
}
