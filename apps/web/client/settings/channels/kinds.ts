import type { Channel, ChannelKind } from '../../../../../lib/contract/channel.ts';
import { channels } from '../../../state/servers.ts';

/** The names of the channel kinds as the page shows them. */
export const kindNames: Record<ChannelKind, string> = {
  category: 'category',
  text: 'text',
  announcement: 'announcement',
  voice: 'voice',
  thread: 'thread',
};

/** The names of the content modes, as far as they need few words. */
export const contentModeNames: Record<NonNullable<Channel['contentMode']>, string> = {
  default: 'no restriction',
  spoiler: 'hidden as spoilers',
  age_restricted: 'age-restricted',
};

/** The value of the option "no category". */
export const noCategory = '';

/** Returns the categories of a server as options of a select field. */
export function categoryChoices(serverId: string): { value: string; label: string }[] {
  const categories = [...channels.value.values()].filter((one: Channel) => one.serverId === serverId && one.kind === 'category');
  return [{ value: noCategory, label: 'None' }, ...categories.map(({ id, name }) => ({ value: id, label: name ?? '' }))];
}
