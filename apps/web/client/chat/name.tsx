import { useComputed } from '@preact/signals';
import { BadgeCheck } from 'lucide';
import type { JSX } from 'preact';
import type { Author, Tag } from '../../../../lib/contract/user.ts';
import { membersOf } from '../../state/people.ts';
import { details } from '../../state/servers.ts';
import { Icon } from '../../ui/icon.tsx';
import { openProfile } from '../people/open-profile.ts';
import { useMembers } from '../people/use-member.ts';

/** The colour of an account in a server: that of its highest role that has one; undefined when none has, or the members were not read. */
export function colorOf(serverId: string | null, userId: string): string | undefined {
  if (serverId === null) return undefined;
  const mine = membersOf(serverId)?.get(userId)?.roles;
  if (!mine?.length) return undefined;
  return details.value.get(serverId)?.roles.find(({ id, color }) => color !== null && mine.includes(id))?.color ?? undefined;
}

/** How a name or mention takes a role's colour: the style sheet keeps it readable in both themes. */
export const roleStyle = (color: string | null | undefined): { '--role': string } | undefined => (color ? { '--role': color } : undefined);

const tags: Record<Tag, string> = { bot: 'Bot', verified_bot: 'Bot', official: 'Official', system: 'System' };

/** The mark beside the name of who is no ordinary person. */
export function TagMark({ tag }: { tag: Tag | undefined }): JSX.Element | null {
  if (!tag) return null;
  return (
    <span class="tag" title={tag === 'verified_bot' ? 'A bot that the platform checked' : tags[tag]}>
      {tag === 'verified_bot' && <Icon of={BadgeCheck} size="1em" />} {tags[tag]}
      {tag === 'verified_bot' && <span class="visually-hidden">, verified</span>}
    </span>
  );
}

/** A name in its colour that opens the profile. */
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
      class={`name ${color.value ? 'coloured' : ''}`}
      style={roleStyle(color.value)}
      tabIndex={tabIndex}
      onClick={() => openProfile(id, serverId)}
    >
      <bdi>{displayName}</bdi>
    </button>
  );
}
