import { rotateKey } from '../../lib/domain/key-rotation.ts';
import { type Grant, grantEarlyAccess, grantServerTypes, grantTag, verifyBot } from '../../lib/domain/servers/grants.ts';
import type { Platform } from '../../lib/store/platform.ts';
import type { PlatformCommand } from './commands.ts';
import { exitCodes, type Result } from './result.ts';

type GrantedValue = readonly string[] | string | boolean | null;

/** Quotes a name. Users choose names, so control characters, which could control the terminal, are replaced. */
const quoted = (name: string): string => `“${name.replace(/\p{C}/gu, '\uFFFD')}”`;

const toText = (value: GrantedValue): string => {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return (typeof value === 'string' ? value : value?.join(', ')) || 'none';
};

type GrantCommand = Exclude<PlatformCommand, { command: 'rotate-key' }>;

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
  const resets = `${secrets(lost.length)} cannot be decrypted. Their owners must reset them: ${lost.slice(0, undecryptableShown).join(', ')}${more}.`;
  return {
    exitCode: exitCodes.done,
    json: { ok: true, command: 'rotate-key', changed: encrypted > 0, encrypted, undecryptable },
    text: `${secrets(encrypted)} re-encrypted with APP_KEY. You can empty APP_KEYS_OLD 15 minutes after all processes were restarted with the new APP_KEY.${lost.length ? ` ${resets}` : ''}`,
  };
}

/** Executes one command and returns what changed. A long one reports its progress line by line. Rejects with a `Refusal` if a rule forbids the change. */
export async function executeCommand(
  platform: Platform,
  command: PlatformCommand,
  report: (line: string) => void = () => undefined,
): Promise<Result> {
  if (command.command === 'rotate-key') return rotate(platform, report);
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
