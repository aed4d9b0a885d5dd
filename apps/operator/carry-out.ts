import { type Grant, grantEarlyAccess, grantServerTypes, grantTag, verifyBot } from '../../lib/domain/grants.ts';
import type { Platform } from '../../lib/store/platform.ts';
import type { Order } from './commands.ts';
import { type Ending, exits } from './ending.ts';

type Held = readonly string[] | string | boolean | null;

/** Names are chosen by strangers: nothing in them may steer a terminal. */
const quoted = (name: string): string => `“${name.replace(/\p{C}/gu, '\uFFFD')}”`;

const wordsOf = (held: Held): string => {
  if (typeof held === 'boolean') return held ? 'yes' : 'no';
  return (typeof held === 'string' ? held : held?.join(', ')) || 'none';
};

/** Does what `order` says; answers what is granted, in words, and what came of it. */
async function grant(platform: Platform, order: Order): Promise<[noun: string, grant: Grant<Held> & { unlisted?: boolean }]> {
  switch (order.command) {
    case 'server-types':
      return ['types', await grantServerTypes(platform, order.serverId, order.types)];
    case 'verify-bot':
      return ['tag', await verifyBot(platform, order.applicationId, order)];
    case 'tag':
      return ['tag', await grantTag(platform, order.userId, order.tag)];
    case 'early-access':
      return ['early access', await grantEarlyAccess(platform, order.userId, order)];
  }
}

/** Carries out one order and says what changed. Rejects with the rule's refusal. */
export async function carryOut(platform: Platform, order: Order): Promise<Ending> {
  const [noun, { unlisted, ...granted }] = await grant(platform, order);
  const changed = JSON.stringify(granted.before) !== JSON.stringify(granted.after) || unlisted === true;
  const [before, after] = [wordsOf(granted.before), wordsOf(granted.after)];
  const news = changed ? `${noun} ${after}, before: ${before}.` : `${noun} ${after} as before; nothing changed.`;
  return {
    exit: exits.done,
    json: { ok: true, command: order.command, changed, ...granted, ...(unlisted === undefined ? {} : { unlisted }) },
    text: `${quoted(granted.name)} (${granted.id}): ${news}${unlisted ? ' It left Discovery.' : ''}`,
  };
}
