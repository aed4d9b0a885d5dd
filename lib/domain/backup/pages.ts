import { type Collection, type Collections, withSharedFields } from '../../store/mongo/database.ts';
import { calculateObjectSize } from '../../store/mongo/ejson.ts';
import { toMembership } from '../../store/mongo/memberships.ts';
import { type MembershipDoc, toMembershipKey } from '../../store/mongo/models/membership.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { ReactionDoc } from '../../store/mongo/models/reaction.ts';
import type { MemberDoc } from '../../store/mongo/models/server.ts';
import { type CollectionName, pageBytes } from './contents.ts';

/** A stored document of any collection. */
export type AnyDoc = { _id: string } & Record<string, unknown>;

/** Documents of one collection, in the order of their ids. */
export interface Page {
  name: CollectionName;
  docs: readonly AnyDoc[];
}

/** How many documents a page has at most. */
const pageSize = 500;

/** Reads the documents whose ids are above `after` and below `before`, if it is given, in pages of at most 500 documents and about 4 MiB. */
async function* readRange<T extends { _id: string }>(collection: Collection<T>, after = '', before?: string): AsyncGenerator<T[], void> {
  const untyped = collection as unknown as Collection<AnyDoc>;
  for (let last = after; ; ) {
    const page: T[] = [];
    let bytes = 0;
    const range = before === undefined ? { $gt: last } : { $gt: last, $lt: before };
    const cursor = untyped.find({ _id: range }, { promoteLongs: false }).sort({ _id: 1 }).limit(pageSize);
    for await (const doc of cursor) {
      page.push(doc as unknown as T);
      bytes += calculateObjectSize(doc);
      if (bytes >= pageBytes) break;
    }
    if (page.length > 0) yield page;
    if (page.length < pageSize && bytes < pageBytes) return;
    last = page.at(-1)?._id ?? last;
  }
}

const toPage = (name: CollectionName, docs: readonly { _id: string }[]): Page => ({ name, docs });

/** Reads the pages of a collection, and of the one that is read with it. */
export async function* readPages(db: Collections, name: CollectionName): AsyncGenerator<Page, void> {
  if (name === 'messages') yield* readMessages(db);
  else if (name === 'members') yield* readMembers(db);
  else for await (const docs of readRange(withSharedFields(db[name]))) yield toPage(name, docs);
}

/**
 * Reads messages with their reactions. The reactions of a page are read after it, so they may have changed since: what a message says decides about changes
 * that are not complete, and its counters are made to agree with the reactions (docs/store.md#reactions). Reactions are before their messages.
 */
async function* readMessages({ messages, reactions }: Collections): AsyncGenerator<Page, void> {
  for await (const page of readRange(messages)) {
    const byId = new Map(page.map((message) => [message._id, message]));
    const counts = new Map<string, number>();
    // The id of a reaction begins with that of its message and a colon, and a semicolon sorts directly after a colon.
    for await (const found of readRange(reactions, page[0]?._id, `${page.at(-1)?._id};`)) {
      const kept = found.flatMap((reaction): ReactionDoc[] => {
        const message = byId.get(reaction.messageId);
        const settled = message && settleReaction(message, reaction);
        const key = `${reaction.messageId}:${reaction.identity}`;
        if (settled?.isCounted) counts.set(key, (counts.get(key) ?? 0) + 1);
        return settled?.kept ? [settled.kept] : [];
      });
      yield toPage('reactions', kept);
    }
    yield toPage(
      'messages',
      page.map((message) => withCounts(message, counts)),
    );
  }
}

/** What a backup keeps of a reaction, and whether it is in effect, as of when the message was read. */
function settleReaction(message: MessageDoc, reaction: ReactionDoc): { kept: ReactionDoc | null; isCounted: boolean } {
  if (message.deleted) return { kept: reaction, isCounted: false };
  const { eventId, removingAt, ...complete } = reaction;
  const isKnown = message.reactions?.some(({ identity }) => identity === reaction.identity) ?? false;
  const isInEffect = message.outbox?.some(({ id }) => id === eventId) ?? false;
  if (!isKnown) return { kept: null, isCounted: false }; // it was added later, or its removal is in effect
  if (eventId === undefined) return { kept: reaction, isCounted: true };
  if (isInEffect) return { kept: reaction, isCounted: removingAt === undefined };
  return removingAt === undefined ? { kept: null, isCounted: false } : { kept: complete, isCounted: true };
}

function withCounts(message: MessageDoc, counts: ReadonlyMap<string, number>): MessageDoc {
  if (message.deleted || !message.reactions) return message;
  const reactions = message.reactions.flatMap((counter) => {
    const count = counts.get(`${message._id}:${counter.identity}`) ?? 0;
    return count > 0 ? [{ ...counter, count }] : [];
  });
  return { ...message, reactions, reactionCount: reactions.reduce((sum, { count }) => sum + count, 0) };
}

/** Reads members with their memberships. A member that has left since its page was read is left out, so every member has its membership. */
async function* readMembers({ members, memberships }: Collections): AsyncGenerator<Page, void> {
  for await (const page of readRange(members)) {
    const keys = page.map(toMembershipKey);
    const found: MembershipDoc[] = await memberships
      .find({ _id: { $in: keys.map(({ _id }) => _id) }, userId: { $in: [...new Set(keys.map(({ userId }) => userId))] } })
      .toArray();
    const byId = new Map(found.map((membership) => [membership._id, membership]));
    const unmatched = page.filter((member) => !byId.has(toMembershipKey(member)._id));
    const staying = unmatched.length ? await readIds(members, unmatched) : new Set<string>();
    const kept = page.filter((member) => byId.has(toMembershipKey(member)._id) || staying.has(member._id));
    const mirrors = kept.map((member): MembershipDoc => {
      const { slot } = byId.get(toMembershipKey(member)._id) ?? {};
      return { ...toMembership(member), ...(slot === undefined ? {} : { slot }) };
    });
    yield toPage('memberships', mirrors);
    yield toPage('members', kept);
  }
}

/** The ids of those `members` that still exist. */
async function readIds(collection: Collections['members'], members: readonly MemberDoc[]): Promise<Set<string>> {
  const filter = {
    _id: { $in: members.map(({ _id }) => _id) },
    serverId: { $in: [...new Set(members.map(({ serverId }) => serverId))] },
  };
  return new Set((await collection.find(filter, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id));
}
