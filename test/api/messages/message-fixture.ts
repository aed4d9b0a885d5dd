// These tests cover messages in channels and DMs: posting, reading, editing and deleting them; mentions, replies and embeds; reactions, pins and crossposts;
// the followers of announcement channels.
import { expect } from 'chai';
import { readEmoji } from '../../../lib/base/emoji.ts';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { MessageDoc } from '../../../lib/store/mongo/models/message.ts';
import { toReactionId } from '../../../lib/store/mongo/models/reaction.ts';
import type { TestApi } from '../../harness/api.ts';
import { openDm } from '../../harness/factories.ts';
import { type Caller, send } from '../../harness/requests.ts';
import { type Given, newBot, useServer } from '../../harness/use.ts';

/** The calls on the messages of one channel, made by `caller` unless another is given. They expect to succeed. */
export interface MessageCalls {
  /** The path of the channel's messages, or of one of them. */
  path(id?: string): string;
  post(content: string | object, as?: Caller): Promise<Message>;
  edit(id: string, body: object, as?: Caller): Promise<Message>;
  read(id: string, as?: Caller): Promise<Message>;
  list(as?: Caller, query?: string): Promise<Message[]>;
  remove(id: string, as?: Caller): Promise<void>;
}

/** The calls on the messages of `channel`. */
export function messageCalls(api: TestApi, channel: { id: string }, caller: Caller): MessageCalls {
  const path = (id?: string): string => `/api/channels/${channel.id}/messages${id === undefined ? '' : `/${id}`}`;
  return {
    path,
    post: (body, as = caller) => send(api, 201, as, 'POST', path(), typeof body === 'string' ? { content: body } : body),
    edit: (id, body, as = caller) => send(api, 200, as, 'PATCH', path(id), body),
    read: (id, as = caller) => send(api, 200, as, 'GET', path(id)),
    list: (as = caller, query = '') => send(api, 200, as, 'GET', `${path()}${query}`),
    remove: (id, as = caller) => send(api, 204, as, 'DELETE', path(id)),
  };
}

/** A server with two bots; `bot` makes the calls on the messages of the server's first channel. */
export interface MessagesFixture extends Given, MessageCalls {
  bot: Caller;
  other: Caller;
}

/** Starts an API with such a server. */
export function useMessages(): MessagesFixture {
  const given = useServer({ bot: newBot(), other: newBot() });
  const general = {
    get id() {
      return given.server.general;
    },
  };
  return { ...given, ...messageCalls(given.api, general, given.bot) };
}

/** Opens a DM; returns it with the calls on its messages, made by `as`. */
export async function dmCalls(api: TestApi, as: Caller, recipient: Caller): Promise<DmChannel & MessageCalls> {
  const dm = await openDm(api, as, recipient);
  return { ...dm, ...messageCalls(api, dm, as) };
}

/** The document of a message, also of a deleted one. */
export const storedMessage = async ({ platform: { db } }: TestApi, id: string): Promise<MessageDoc | null> =>
  await db.messages.findOne({ _id: id });

/** The reactions of a message: by its emoji as they are shown, in their order, the accounts that reacted with it, oldest first. */
export type Reactors = Record<string, string[]>;

/** The stored reactions of a message. Expects that its counters agree with them. */
export async function storedReactions({ platform: { db } }: TestApi, messageId: string): Promise<Reactors> {
  const message = await db.messages.findOne({ _id: messageId });
  const found = await db.reactions.find({ messageId }).sort({ at: 1 }).toArray();
  const present = found.filter(({ removingAt }) => !removingAt);
  const counters = message?.reactions ?? [];
  const reactors = counters.map(({ emoji, identity }): [string, string[]] => [
    emoji,
    present.filter((one) => one.identity === identity).map(({ userId }) => userId),
  ]);
  expect(counters.map(({ emoji, count }) => [emoji, count])).to.deep.equal(reactors.map(([emoji, users]) => [emoji, users.length]));
  expect(message?.deleted ? 0 : present.length).to.equal(counters.reduce((sum, { count }) => sum + count, 0));
  if (!message?.deleted) expect(message?.reactionCount ?? 0).to.equal(present.length);
  return Object.fromEntries(reactors);
}

/** Stores these reactions of a message that has none, without events. */
export async function storeReactions(
  { platform: { db } }: TestApi,
  { id: messageId, channelId }: Message,
  reactors: Reactors,
): Promise<void> {
  const entries = Object.entries(reactors).map(([text, users]) => ({ ...(readEmoji(text) ?? { identity: text, emoji: text }), users }));
  const docs = entries.flatMap(({ identity, users }) =>
    users.map((userId, n) => {
      const key = { messageId, userId, identity };
      return { _id: toReactionId(key), channelId, ...key, at: new Date(n) };
    }),
  );
  if (docs.length) await db.reactions.insertMany(docs);
  const reactions = entries.map(({ identity, emoji, users }) => ({ identity, emoji, count: users.length }));
  await db.messages.updateOne({ _id: messageId }, { $set: { reactions, reactionCount: docs.length } });
}

/** The names of a message's pending events after its MESSAGE_CREATE, which is not in the outbox. */
export const pendingAfterCreate = async (api: TestApi, id: string): Promise<string[]> =>
  ((await storedMessage(api, id))?.outbox ?? []).map(({ name }) => name);

/** This many characters that are two UTF-16 units each. */
export const emoji = (count: number): string => '😀'.repeat(count);
