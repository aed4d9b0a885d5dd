import { readEmoji } from '../base/emoji.ts';
import { refuse } from '../base/errors.ts';
import { isId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { holds } from '../base/permissions.ts';
import type { UserFace } from '../contract/user.ts';
import type { MessageDoc } from '../store/models/message.ts';
import { alsoOwing } from '../store/models/outbox.ts';
import type { ApiPlatform, Platform } from '../store/platform.ts';
import type { Actor } from './access.ts';
import { accountsOf, faceOf, goneAuthor } from './faces.ts';
import { inPlace } from './places.ts';

/** The caller, and the emoji on the message that a request names. Everything here came from outside, so expressions hold it in `$literal`. */
interface Asked {
  channelId: string;
  messageId: string;
  userId: string;
  identity: string;
  emoji: string;
}

const standing = { $ifNull: ['$reactions', []] };
const usersInAll = { $sum: { $map: { input: standing, as: 'one', in: { $size: '$$one.users' } } } };
const literal = (value: string) => ({ $literal: value });
const isIt = ({ identity }: Pick<Asked, 'identity'>) => ({ $eq: ['$$one.identity', literal(identity)] });
/** `field` of the emoji's own entry; missing where nobody reacted with it. */
const ofIt = (asked: Pick<Asked, 'identity'>, field: 'emoji' | 'users') => ({
  $arrayElemAt: [{ $map: { input: { $filter: { input: standing, as: 'one', cond: isIt(asked) } }, as: 'one', in: `$$one.${field}` } }, 0],
});
/** All entries, that of the emoji with `users` instead of its own. */
const withUsers = (asked: Asked, users: object) => ({
  $map: {
    input: standing,
    as: 'one',
    in: { $cond: [isIt(asked), { identity: '$$one.identity', emoji: '$$one.emoji', users }, '$$one'] },
  },
});
const messageOf = ({ channelId, messageId }: Pick<Asked, 'channelId' | 'messageId'>) => ({
  _id: messageId,
  channelId,
  deleted: { $exists: false },
});

/** Loads and checks what a request names: 404 for what the caller may not know of, 403 without View Channel, 400 for what is no emoji. */
async function ask(platform: Platform, actor: Actor, channelId: string, messageId: string, text: string) {
  const place = await inPlace(platform, actor, channelId);
  if (!isId(messageId)) refuse('not_found', { what: 'message' });
  const emoji = readEmoji(text) ?? refuse('invalid_request', { reason: 'the path names no emoji: one emoji, or a custom one as name:id' });
  return { place, asked: { channelId, messageId, userId: actor.id, ...emoji } };
}

/** The event of a reaction, with the emoji as the message shows it. */
const eventOf = (platform: Platform, name: 'REACTION_ADD' | 'REACTION_REMOVE', asked: Asked) => ({
  id: literal(platform.ids.next()),
  name,
  data: { userId: literal(asked.userId), emoji: { $ifNull: [ofIt(asked, 'emoji'), literal(asked.emoji)] } },
});

/**
 * Adds a reaction where every rule allows it; false where one does not. The rules, the entry and the event are one conditional update, so none of them can be
 * passed by a race (edge cases 20-22).
 */
async function write(platform: ApiPlatform, asked: Asked, mayAdd: boolean): Promise<boolean> {
  const { identity, emoji, userId } = asked;
  const joins = { reactions: { $elemMatch: { identity, users: { $ne: userId } } } };
  const adds = { 'reactions.identity': { $ne: identity }, [`reactions.${limits.reactionsPerMessage - 1}`]: { $exists: false } };
  const me = [literal(userId)];
  const joined = withUsers(asked, { $concatArrays: ['$$one.users', me] });
  const added = { $concatArrays: [standing, [{ identity: literal(identity), emoji: literal(emoji), users: me }]] };
  const isThere = { $in: [literal(identity), { $map: { input: standing, as: 'one', in: '$$one.identity' } }] };
  const { modifiedCount } = await platform.db.messages.collection.updateOne(
    { ...messageOf(asked), $or: mayAdd ? [joins, adds] : [joins], $expr: { $lt: [usersInAll, limits.reactionsInAll] } } as never,
    [
      {
        $set: {
          ...alsoOwing(eventOf(platform, 'REACTION_ADD', asked), new Date(platform.now())),
          reactions: { $cond: [isThere, joined, added] },
        },
      },
    ],
  );
  return modifiedCount === 1;
}

/** Says why a reaction was not written; returns where the user has it already, or where nothing stands in its way any more. */
async function judge(platform: Platform, asked: Asked, mayAdd: boolean): Promise<'there' | 'again'> {
  const seen = await platform.db.messages.collection.findOne(messageOf(asked) as never, {
    projection: {
      _id: 0,
      emojis: { $size: standing },
      users: usersInAll,
      mine: { $in: [literal(asked.userId), { $ifNull: [ofIt(asked, 'users'), []] }] },
      shown: ofIt(asked, 'emoji'),
    },
  });
  if (!seen) return refuse('not_found', { what: 'message' });
  const { emojis, users, mine, shown } = seen as unknown as { emojis: number; users: number; mine: boolean; shown?: string | null };
  if (mine) return 'there';
  const isNew = typeof shown !== 'string';
  if (isNew && !mayAdd) refuse('missing_permission', { permissions: 'Add Reactions' }, { missing: ['Add Reactions'] });
  if (isNew && emojis >= limits.reactionsPerMessage)
    refuse('too_many_reactions', { limit: `${limits.reactionsPerMessage} different reactions` });
  if (users >= limits.reactionsInAll) refuse('too_many_reactions', { limit: `${limits.reactionsInAll} reactions in all` });
  return 'again';
}

/**
 * Reacts to a message (spec, Messages). Joining an emoji that stands on it needs View Channel, a new one Add Reactions too. Reacting again changes nothing.
 * Refuses `too_many_reactions` for the 21st different emoji, and past 10,000 reactions in all.
 */
export async function addReaction(platform: ApiPlatform, actor: Actor, channelId: string, messageId: string, text: string): Promise<void> {
  const { place, asked } = await ask(platform, actor, channelId, messageId, text);
  const mayAdd = holds(place.permissions, 'Add Reactions');
  for (;;) {
    if (await write(platform, asked, mayAdd)) return platform.nudge('drain-channel', { channelId });
    if ((await judge(platform, asked, mayAdd)) === 'there') return;
  }
}

/** Takes the caller's reaction back; one that is not there stays so. The last one takes the emoji with it. Needs View Channel. */
export async function removeReaction(
  platform: ApiPlatform,
  actor: Actor,
  channelId: string,
  messageId: string,
  text: string,
): Promise<void> {
  const { asked } = await ask(platform, actor, channelId, messageId, text);
  const { identity, userId } = asked;
  const others = { $filter: { input: '$$one.users', as: 'user', cond: { $ne: ['$$user', literal(userId)] } } };
  const left = { $filter: { input: withUsers(asked, others), as: 'one', cond: { $ne: ['$$one.users', []] } } };
  const { modifiedCount } = await platform.db.messages.collection.updateOne(
    { ...messageOf(asked), reactions: { $elemMatch: { identity, users: userId } } } as never,
    [
      { $set: { ...alsoOwing(eventOf(platform, 'REACTION_REMOVE', asked), new Date(platform.now())), reactions: left } },
      { $set: { reactions: { $cond: [{ $eq: ['$reactions', []] }, '$$REMOVE', '$reactions'] } } },
    ],
  );
  if (modifiedCount === 1) return platform.nudge('drain-channel', { channelId });
  if (!(await platform.db.messages.collection.findOne(messageOf(asked) as never, { projection: { _id: 1 } })))
    refuse('not_found', { what: 'message' });
}

/** The first 100 who reacted with an emoji, oldest reaction first (edge case 24); none for an emoji that is not there. Needs View Channel. */
export async function listReactors(
  platform: ApiPlatform,
  actor: Actor,
  channelId: string,
  messageId: string,
  text: string,
): Promise<UserFace[]> {
  const { asked } = await ask(platform, actor, channelId, messageId, text);
  const found = await platform.db.messages.collection.findOne(messageOf(asked) as never, {
    projection: { _id: 0, users: { $slice: [{ $ifNull: [ofIt(asked, 'users'), []] }, limits.reactorsShown] } },
  });
  if (!found) return refuse('not_found', { what: 'message' });
  const { users } = found as unknown as { users: MessageDoc['mentions'] };
  const accounts = await accountsOf(platform, users, [actor.account]);
  return users.map((id) => {
    const account = accounts.get(id);
    return account ? faceOf(account) : goneAuthor(id);
  });
}
