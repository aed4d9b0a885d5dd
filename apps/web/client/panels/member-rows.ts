import type { Member } from '../../../../lib/contract/member.ts';
import type { Role } from '../../../../lib/contract/server.ts';

/** One row of the member list: the name and size of a group, or a member. */
export type MemberRow = { key: string; kind: 'group'; name: string; count: number } | { key: string; kind: 'member'; member: Member };

const { compare } = new Intl.Collator();
const byName = (a: Member, b: Member): number => compare(a.user.displayName, b.user.displayName) || (a.user.id < b.user.id ? -1 : 1);

/**
 * Returns the rows of the member list: online members by their highest hoisted role, highest first, then other online members, then offline members. `roles`
 * is sorted highest first.
 */
export function memberRows(roles: readonly Role[], members: readonly Member[]): MemberRow[] {
  const hoisted = roles.filter(({ hoist }) => hoist);
  const groups = new Map<string, { name: string; members: Member[] }>();
  for (const { id, name } of hoisted) groups.set(id, { name, members: [] });
  groups.set('online', { name: 'Online', members: [] });
  groups.set('offline', { name: 'Offline', members: [] });
  for (const member of members) {
    const held = hoisted.find(({ id }) => member.roles.includes(id))?.id ?? 'online';
    groups.get(member.status === 'offline' ? 'offline' : held)?.members.push(member);
  }
  return [...groups].flatMap(([key, group]) =>
    group.members.length === 0
      ? []
      : [
          { key, kind: 'group' as const, name: group.name, count: group.members.length },
          ...group.members.sort(byName).map((member) => ({ key: `${key} ${member.user.id}`, kind: 'member' as const, member })),
        ],
  );
}

/** The maximum number of members whose presence is kept up to date. */
export const membersWatched = 350;

/**
 * Returns the members whose presence is kept up to date: all of a small server; otherwise those in view, then those that are online, because their presence
 * decides their group in the list.
 */
export function watchedOf(rows: readonly MemberRow[], inView: readonly MemberRow[]): string[] {
  const membersIn = (some: readonly MemberRow[]): Member[] => some.flatMap((row) => (row.kind === 'member' ? [row.member] : []));
  const all = membersIn(rows);
  if (all.length <= membersWatched) return all.map(({ user }) => user.id).sort();
  const online = all.filter(({ status }) => status !== 'offline');
  return [...new Set([...membersIn(inView), ...online].map(({ user }) => user.id))].slice(0, membersWatched).sort();
}

/** Returns the row that a key moves to from the row `from`: the next or previous member, one page further, or an end of the list; -1 for other keys. */
export function memberAt(rows: readonly MemberRow[], from: number, key: string, pageRows: number): number {
  const isMember = ({ kind }: MemberRow): boolean => kind === 'member';
  const first = rows.findIndex(isMember);
  const last = rows.findLastIndex(isMember);
  const nextMember = (start: number): number => rows.findIndex((row, at) => at >= start && isMember(row));
  const previousMember = (start: number): number => rows.findLastIndex((row, at) => at <= start && isMember(row));
  switch (key) {
    case 'ArrowDown':
      return nextMember(from + 1);
    case 'ArrowUp':
      return previousMember(from - 1);
    case 'PageDown':
      return nextMember(Math.min(last, from + pageRows));
    case 'PageUp':
      return previousMember(Math.max(first, from - pageRows));
    case 'Home':
      return first;
    case 'End':
      return last;
    default:
      return -1;
  }
}
