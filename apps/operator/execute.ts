import { rotateKey } from '../../lib/domain/key-rotation.ts';
import { runAudited } from '../../lib/domain/operators/audit.ts';
import { type ChangeCommand, changeAsOperator } from '../../lib/domain/operators/changes.ts';
import { reindex } from '../../lib/domain/operators/reindex.ts';
import { type Grant, grantEarlyAccess, grantServerTypes, grantTag, verifyBot } from '../../lib/domain/servers/grants.ts';
import type { Platform, WakePlatform } from '../../lib/store/platform.ts';
import type { ListCommand, PlatformCommand } from './commands.ts';
import { executeList } from './lists.ts';
import { exitCodes, type Result } from './result.ts';
import { quoted } from './text.ts';

type GrantedValue = readonly string[] | string | boolean | null;

const toText = (value: GrantedValue): string => {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return (typeof value === 'string' ? value : value?.join(', ')) || 'none';
};

type GrantCommand = Extract<PlatformCommand, { command: 'server-types' | 'verify-bot' | 'tag' | 'early-access' }>;

/** Executes a granting command. Returns the name of what is granted, and the result. */
async function grant(
  platform: Platform,
  command: GrantCommand,
): Promise<[noun: string, grant: Grant<GrantedValue> & { unlisted?: boolean }]> {
  switch (command.command) {
    case 'server-types':
      return ['server types', await grantServerTypes(platform, command.serverId, command.types)];
    case 'verify-bot':
      return ['tag', await verifyBot(platform, command.applicationId, command)];
    case 'tag':
      return ['tag', await grantTag(platform, command.userId, command.tag)];
    case 'early-access':
      return ['early access', await grantEarlyAccess(platform, command.userId, command)];
  }
}

/** How many of the secrets that cannot be decrypted are listed for people. With `--json` all are listed. */
const undecryptableShown = 20;

const secrets = (count: number): string => `${count} ${count === 1 ? 'secret' : 'secrets'}`;

async function rotate(platform: Platform, report: (line: string) => void): Promise<Result> {
  const { encrypted, undecryptable } = await rotateKey(platform, ({ what, checked, reencrypted }) =>
    report(`${what}: ${checked} checked, ${reencrypted} re-encrypted with APP_KEY`),
  );
  const lost = undecryptable.map(({ what, id }) => `${what} ${id}`);
  const more = lost.length > undecryptableShown ? ` and ${lost.length - undecryptableShown} more` : '';
  const resets = `${secrets(lost.length)} cannot be decrypted. Their owners must reset them, or reset-two-factor those of accounts: ${lost.slice(0, undecryptableShown).join(', ')}${more}.`;
  return {
    exitCode: exitCodes.done,
    json: { ok: true, command: 'rotate-key', changed: encrypted > 0, encrypted, undecryptable },
    text: `${secrets(encrypted)} re-encrypted with APP_KEY. You can empty APP_KEYS_OLD 15 minutes after all processes were restarted with the new APP_KEY.${lost.length ? ` ${resets}` : ''}`,
  };
}

async function runReindex(
  platform: Platform,
  { after }: Extract<PlatformCommand, { command: 'reindex' }>,
  report: (line: string) => void,
): Promise<Result> {
  const { corrected, busy } = await reindex(platform, report, after);
  const total = Object.values(corrected).reduce((sum, count) => sum + count, 0);
  const counts = Object.entries(corrected).map(([part, count]) => `${part} ${count}`);
  const more = busy.length > 0 ? ` The storage of ${busy.length} accounts and servers changed meanwhile; run the command again.` : '';
  return {
    exitCode: exitCodes.done,
    json: { ok: true, command: 'reindex', changed: total > 0, corrected, busy },
    text: `Corrected: ${counts.join(', ')}.${more}`,
  };
}

async function executeGrant(platform: Platform, command: GrantCommand): Promise<Result> {
  const [noun, { unlisted, ...granted }] = await grant(platform, command);
  const changed = JSON.stringify(granted.before) !== JSON.stringify(granted.after) || unlisted === true;
  const [before, after] = [toText(granted.before), toText(granted.after)];
  const change = before === after ? `${noun}: ${after}, unchanged.` : `${noun}: ${after}, previously ${before}.`;
  return {
    exitCode: exitCodes.done,
    json: { ok: true, command: command.command, changed, ...granted, ...(unlisted === undefined ? {} : { unlisted }) },
    text: `${quoted(granted.name)} (${granted.id}): ${change}${unlisted ? ' The server was removed from Discovery.' : ''}`,
  };
}

async function executeChange(platform: WakePlatform, command: ChangeCommand, operator: string): Promise<Result> {
  const { id, name, isChanged, sentence, link, more } = await changeAsOperator(platform, command, operator);
  return {
    exitCode: exitCodes.done,
    json: { ok: true, command: command.command, changed: isChanged, id, name, ...(link === undefined ? {} : { link }), ...more },
    text: `${quoted(name)} (${id}): ${sentence}${link === undefined ? '' : `\n${link}`}`,
  };
}

const listCommands: readonly string[] = ['accounts', 'servers', 'account', 'storage', 'audit'] satisfies ListCommand['command'][];
const isList = (command: PlatformCommand): command is ListCommand => listCommands.includes(command.command);
const grantCommands: readonly string[] = ['server-types', 'verify-bot', 'tag', 'early-access'] satisfies GrantCommand['command'][];
const isGrant = (command: PlatformCommand): command is GrantCommand => grantCommands.includes(command.command);

/** How a command runs: who runs it, for the audit log, and what gets the progress of a long one line by line. */
export interface Run {
  operator: string;
  report?: (line: string) => void;
}

/**
 * Executes one command and returns what changed. A command that can change something leaves an entry in the operators' audit log. Rejects with a `Refusal` if a
 * rule forbids the change.
 */
export async function executeCommand(
  platform: WakePlatform,
  command: PlatformCommand,
  { operator, report = () => undefined }: Run,
): Promise<Result> {
  if (isList(command)) return executeList(platform, command);
  if (command.command !== 'rotate-key' && command.command !== 'reindex' && !isGrant(command))
    return executeChange(platform, command, operator);
  const { command: name, ...given } = command;
  const run = (): Promise<Result> => {
    if (command.command === 'rotate-key') return rotate(platform, report);
    return command.command === 'reindex' ? runReindex(platform, command, report) : executeGrant(platform, command);
  };
  return runAudited(platform, { operator, command: name, given }, run, ({ json }) => ({
    isChanged: json.changed === true,
    ...(typeof json.id === 'string' ? { targetId: json.id } : {}),
  }));
}
