import { useComputed } from '@preact/signals';
import { BadgeCheck } from 'lucide';
import type { JSX } from 'preact';
import type { Author, Tag } from '../../../../lib/contract/user.ts';
import { membersOf } from '../../state/people.ts';
import { servers } from '../../state/servers.ts';
import { Icon } from '../../ui/icon.tsx';
import { openProfile } from '../people/open-profile.ts';
import { useMembers } from '../people/use-member.ts';

/** Returns the color of an account in a server: the color of its highest role that has one; undefined when there is none or the member is not loaded. */
export function colorOf(serverId: string | null, userId: string): string | undefined {
  if (serverId === null) return undefined;
  const roleIds = membersOf(serverId)?.get(userId)?.roles;
  if (!roleIds?.length) return undefined;
  return servers.value.get(serverId)?.roles.find(({ id, color }) => color !== null && roleIds.includes(id))?.color ?? undefined;
}

/** Returns the style that passes a role's color to the style sheet, which keeps it readable in both themes. */
export const roleStyle = (color: string | null | undefined): { '--role': string } | undefined => (color ? { '--role': color } : undefined);

const tags: Record<Tag, string> = { bot: 'Bot', verified_bot: 'Bot', official: 'Official', system: 'System' };

/** The tag beside the name of a bot, an official account or the system account. */
export function TagMark({ tag }: { tag: Tag | undefined }): JSX.Element | null {
  if (!tag) return null;
  return (
    <span class="tag" title={tag === 'verified_bot' ? 'Bot verified by the platform' : tags[tag]}>
      {tag === 'verified_bot' && <Icon of={BadgeCheck} size="1em" />} {tags[tag]}
      {tag === 'verified_bot' && <span class="visually-hidden">, verified</span>}
    </span>
  );
}

/** A name in its color, which opens the profile. */
export function Name({
  account: { id, displayName },
  serverId,
  tabIndex,
}: {
  account: Pick<Author, 'id' | 'displayName'>;
  serverId: string | null;
  tabIndex?: number;
}): JSX.Element {
  const color = useComputed(() => colorOf(serverId, id));
  useMembers(serverId, [id]);
  return (
    <button
      type="button"
      class={`name ${color.value ? 'colored' : ''}`}
      style={roleStyle(color.value)}
      tabIndex={tabIndex}
      onClick={() => openProfile(id, serverId)}
    >
      <bdi>{displayName}</bdi>
    </button>
  );
}
