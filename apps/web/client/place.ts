import type { Channel } from '../../../lib/contract/channel.ts';
import { dms } from '../state/dms.ts';
import { faceOf, nameOf } from '../state/people.ts';
import { may } from '../state/rights.ts';
import { channels, details } from '../state/servers.ts';
import { lastVisited } from './visited.ts';

/** Where messages are read and written: a channel or thread of a server, or a DM. */
export interface Place {
  channelId: string;
  /** null in a DM. */
  serverId: string | null;
  /** The channel as the server knows it; undefined in a DM. */
  channel: Channel | undefined;
  /** What the place is called: a channel's name, or who the DM is with. */
  name: string;
  /** Whom a DM is with; undefined elsewhere. */
  recipientId: string | undefined;
}

/** Whether a channel holds messages (docs/behavior/messages.md#channels-that-hold-messages). */
export const holdsMessages = ({ kind }: Channel): boolean => kind === 'text' || kind === 'announcement' || kind === 'thread';

/** The place of a channel id, as it stands now; undefined when the person knows none. */
export function placeOf(channelId: string): Place | undefined {
  const channel = channels.value.get(channelId);
  if (channel) return { channelId, serverId: channel.serverId, channel, name: channel.name ?? '', recipientId: undefined };
  const dm = dms.value.find(({ id }) => id === channelId);
  if (!dm) return undefined;
  return { channelId, serverId: null, channel: undefined, name: nameOf(dm.recipient.id), recipientId: dm.recipient.id };
}

/** Where a place is shown: the path of its page, with the message to jump to. */
export function pathOf(channelId: string, messageId?: string): string {
  const serverId = channels.value.get(channelId)?.serverId;
  const at = messageId ? `?message=${messageId}` : '';
  return (serverId ? `/servers/${serverId}/${channelId}` : `/dms/${channelId}`) + at;
}

/** Where a server opens: the channel that was looked at last, else the first of its list that holds messages. */
export function openingChannelOf(serverId: string): string | undefined {
  const { top, categories } = orderedChannels(serverId);
  const all = [...top, ...categories.flatMap((one) => one.channels)].filter(holdsMessages);
  const last = lastVisited(serverId);
  return (all.find(({ id }) => id === last) ?? all[0])?.id;
}

const byPosition = (a: Channel, b: Channel): number => (a.position ?? 0) - (b.position ?? 0) || (a.id < b.id ? -1 : 1);

/** A server's channels as its list shows them: those without a category, then each category with its own. Threads stand apart, by their channel. */
export function orderedChannels(serverId: string): {
  top: Channel[];
  categories: { category: Channel; channels: Channel[] }[];
  threads: ReadonlyMap<string, Channel[]>;
} {
  const all = (details.value.get(serverId)?.channels ?? []).toSorted(byPosition);
  const categories = all.filter(({ kind }) => kind === 'category');
  const known = new Set(categories.map(({ id }) => id));
  const plain = all.filter(({ kind }) => kind !== 'category' && kind !== 'thread');
  const threads = new Map<string, Channel[]>();
  for (const thread of all)
    if (thread.kind === 'thread' && !thread.archived)
      threads.set(thread.parentId ?? '', [...(threads.get(thread.parentId ?? '') ?? []), thread]);
  return {
    // A channel whose category is hidden stands where it can be seen.
    top: plain.filter(({ parentId }) => parentId === null || !known.has(parentId)),
    categories: categories.map((category) => ({ category, channels: plain.filter(({ parentId }) => parentId === category.id) })),
    threads,
  };
}

/** Whether a place holds the platform's own messages to the person: nobody can reply there. */
export const isNoticePlace = ({ recipientId }: Place): boolean => recipientId !== undefined && faceOf(recipientId)?.tag === 'system';

/** Whether the person may write in a place. */
export const mayWrite = (place: Place): boolean => !isNoticePlace(place) && may('Send Messages', place.serverId, place.channel);
