import { channelKinds } from '../../../lib/base/channel-kinds.ts';
import type { Channel } from '../../../lib/contract/channel.ts';
import { dms } from '../state/dms.ts';
import { nameOf, userOf } from '../state/people.ts';
import { may } from '../state/rights.ts';
import { channels, servers } from '../state/servers.ts';
import { lastVisited } from './visited.ts';

/** The context of a message list: a channel or thread of a server, or a DM. */
export interface ChannelContext {
  channelId: string;
  /** null in a DM. */
  serverId: string | null;
  /** The channel; undefined in a DM. */
  channel: Channel | undefined;
  /** The name of the channel, or of the recipient of the DM. */
  name: string;
  /** The recipient of a DM; undefined in a server. */
  recipientId: string | undefined;
}

/** Whether a channel holds messages (docs/behavior/messages.md#channels-that-hold-messages). */
export const holdsMessages = ({ kind }: Channel): boolean => channelKinds[kind].hasMessages;

/** Returns the current context of a channel id; undefined when it is not known. */
export function channelContextOf(channelId: string): ChannelContext | undefined {
  const channel = channels.value.get(channelId);
  if (channel) return { channelId, serverId: channel.serverId, channel, name: channel.name ?? '', recipientId: undefined };
  const dm = dms.value.find(({ id }) => id === channelId);
  if (!dm) return undefined;
  return { channelId, serverId: null, channel: undefined, name: nameOf(dm.recipient.id), recipientId: dm.recipient.id };
}

/** Returns the path of the page of a channel or DM, with the message to jump to. */
export function pathOf(channelId: string, messageId?: string): string {
  const serverId = channels.value.get(channelId)?.serverId;
  const at = messageId ? `?message=${messageId}` : '';
  return (serverId ? `/servers/${serverId}/${channelId}` : `/dms/${channelId}`) + at;
}

/** Returns the channel that a server opens with: the last visited one, otherwise the first one in its list that holds messages. */
export function openingChannelOf(serverId: string): string | undefined {
  const { top, categories } = orderedChannels(serverId);
  const all = [...top, ...categories.flatMap((one) => one.channels)].filter(holdsMessages);
  const last = lastVisited(serverId);
  return (all.find(({ id }) => id === last) ?? all[0])?.id;
}

const byPosition = (a: Channel, b: Channel): number => (a.position ?? 0) - (b.position ?? 0) || (a.id < b.id ? -1 : 1);

/**
 * Returns a server's channels in the order of the channel list: those without a category, then each category with its channels. Threads are returned
 * separately, by the id of their channel.
 */
export function orderedChannels(serverId: string): {
  top: Channel[];
  categories: { category: Channel; channels: Channel[] }[];
  threads: ReadonlyMap<string, Channel[]>;
} {
  const all = (servers.value.get(serverId)?.channels ?? []).toSorted(byPosition);
  const categories = all.filter(({ kind }) => kind === 'category');
  const known = new Set(categories.map(({ id }) => id));
  const plain = all.filter(({ kind }) => kind !== 'category' && kind !== 'thread');
  const threads = new Map<string, Channel[]>();
  for (const thread of all)
    if (thread.kind === 'thread' && !thread.archived)
      threads.set(thread.parentId ?? '', [...(threads.get(thread.parentId ?? '') ?? []), thread]);
  return {
    // A channel whose category is hidden from the user is listed without a category.
    top: plain.filter(({ parentId }) => parentId === null || !known.has(parentId)),
    categories: categories.map((category) => ({ category, channels: plain.filter(({ parentId }) => parentId === category.id) })),
    threads,
  };
}

/** Whether the channel is the DM with the system account, to which nobody can reply. */
export const isSystemDm = ({ recipientId }: ChannelContext): boolean => recipientId !== undefined && userOf(recipientId)?.tag === 'system';

/** Whether the user may write in a channel or DM. */
export const mayWrite = (context: ChannelContext): boolean =>
  !isSystemDm(context) && may('Send Messages', context.serverId, context.channel);
