import type { Member, Role } from '../../../../lib/contract/server.ts';

/** One row of the member list: a group's name with how many are in it, or a member. */
export type MemberRow = { key: string; kind: 'group'; name: string; count: number } | { key: string; kind: 'member'; member: Member };

const { compare } = new Intl.Collator();
const byName = (a: Member, b: Member): number => compare(a.user.displayName, b.user.displayName) || (a.user.id < b.user.id ? -1 : 1);

/** The member list as rows: who is online by their highest hoisted role, highest first, then the others online, then who is offline. `roles` highest first. */
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

/** How many members of the list are kept up to date at most. */
export const membersWatched = 350;

/** The members whose presence is kept up to date: all of a small server; else those in view, then those online, whose place in the list depends on it. */
export function watchedOf(rows: readonly MemberRow[], inView: readonly MemberRow[]): string[] {
  const membersIn = (some: readonly MemberRow[]): Member[] => some.flatMap((row) => (row.kind === 'member' ? [row.member] : []));
  const all = membersIn(rows);
  if (all.length <= membersWatched) return all.map(({ user }) => user.id).sort();
  const online = all.filter(({ status }) => status !== 'offline');
  return [...new Set([...membersIn(inView), ...online].map(({ user }) => user.id))].slice(0, membersWatched).sort();
}

/** Where a key leads from the row `from`: to the next or previous member, one page on, or to an end of the list; -1 where it leads nowhere. */
export function memberAt(rows: readonly MemberRow[], from: number, key: string, pageRows: number): number {
  const isMember = ({ kind }: MemberRow): boolean => kind === 'member';
  const first = rows.findIndex(isMember);
  const last = rows.findLastIndex(isMember);
  const onwards = (start: number): number => rows.findIndex((row, at) => at >= start && isMember(row));
  const backwards = (start: number): number => rows.findLastIndex((row, at) => at <= start && isMember(row));
  switch (key) {
    case 'ArrowDown':
      return onwards(from + 1);
    case 'ArrowUp':
      return backwards(from - 1);
    case 'PageDown':
      return onwards(Math.min(last, from + pageRows));
    case 'PageUp':
      return backwards(Math.max(first, from - pageRows));
    case 'Home':
      return first;
    case 'End':
      return last;
    default:
      return -1;
  }
}
