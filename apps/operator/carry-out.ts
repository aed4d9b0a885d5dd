import { rotateKey } from '../../lib/domain/key-rotation.ts';
import { type Grant, grantEarlyAccess, grantServerTypes, grantTag, verifyBot } from '../../lib/domain/servers/grants.ts';
import type { Platform } from '../../lib/store/platform.ts';
import type { Order } from './commands.ts';
import { type Ending, exits } from './ending.ts';

type Held = readonly string[] | string | boolean | null;

/** Quotes a name. Users choose names, so control characters, which could control the terminal, are replaced. */
const quoted = (name: string): string => `“${name.replace(/\p{C}/gu, '\uFFFD')}”`;

const wordsOf = (held: Held): string => {
  if (typeof held === 'boolean') return held ? 'yes' : 'no';
  return (typeof held === 'string' ? held : held?.join(', ')) || 'none';
};

type GrantOrder = Exclude<Order, { command: 'rotate-key' }>;

/** Executes a granting command. Returns the name of what is granted, and the result. */
async function grant(platform: Platform, order: GrantOrder): Promise<[noun: string, grant: Grant<Held> & { unlisted?: boolean }]> {
  switch (order.command) {
    case 'server-types':
      return ['server types', await grantServerTypes(platform, order.serverId, order.types)];
    case 'verify-bot':
      return ['tag', await verifyBot(platform, order.applicationId, order)];
    case 'tag':
      return ['tag', await grantTag(platform, order.userId, order.tag)];
    case 'early-access':
      return ['early access', await grantEarlyAccess(platform, order.userId, order)];
  }
}

const undecryptableShown = 20;

async function rotate(platform: Platform, report: (line: string) => void): Promise<Ending> {
  const { encrypted, undecryptable } = await rotateKey(platform, ({ what, walked, done }) =>
    report(`${what}: ${walked} read, ${done} encrypted under APP_KEY`),
  );
  const lost = undecryptable.map(({ what, id }) => `${what} ${id}`);
  const more = lost.length > undecryptableShown ? ` and ${lost.length - undecryptableShown} more` : '';
  const resets = `${lost.length} cannot be decrypted and must be reset by their owners: ${lost.slice(0, undecryptableShown).join(', ')}${more}.`;
  return {
    exit: exits.done,
    json: { ok: true, command: 'rotate-key', changed: encrypted > 0, encrypted, undecryptable },
    text: `${encrypted} secrets were encrypted under APP_KEY. APP_KEYS_OLD can be emptied 15 minutes after all processes were restarted with the new APP_KEY.${lost.length ? ` ${resets}` : ''}`,
  };
}

/** Executes one command and returns what changed. A long one reports its progress line by line. Rejects with a `Refusal` if a rule forbids the change. */
export async function carryOut(platform: Platform, order: Order, report: (line: string) => void = () => undefined): Promise<Ending> {
  if (order.command === 'rotate-key') return rotate(platform, report);
  const [noun, { unlisted, ...granted }] = await grant(platform, order);
  const changed = JSON.stringify(granted.before) !== JSON.stringify(granted.after) || unlisted === true;
  const [before, after] = [wordsOf(granted.before), wordsOf(granted.after)];
  const news = before === after ? `${noun}: ${after}, unchanged.` : `${noun}: ${after}, previously ${before}.`;
  return {
    exit: exits.done,
    json: { ok: true, command: order.command, changed, ...granted, ...(unlisted === undefined ? {} : { unlisted }) },
    text: `${quoted(granted.name)} (${granted.id}): ${news}${unlisted ? ' The server was removed from Discovery.' : ''}`,
  };
}
