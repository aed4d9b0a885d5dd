import type { Channel, ChannelKind } from '../../../../../lib/contract/channel.ts';
import { channels } from '../../../state/servers.ts';

/** What a channel is, as people read it. */
export const kindNames: Record<ChannelKind, string> = {
  category: 'category',
  text: 'text',
  announcement: 'announcements',
  voice: 'voice',
  thread: 'thread',
};

/** The value of a choice that stands for no category. */
export const noCategory = '';

/** The categories that a channel of a server can be in, as choices. */
export function categoryChoices(serverId: string): { value: string; label: string }[] {
  const categories = [...channels.value.values()].filter((one: Channel) => one.serverId === serverId && one.kind === 'category');
  return [{ value: noCategory, label: 'None' }, ...categories.map(({ id, name }) => ({ value: id, label: name ?? '' }))];
}
