import type { Member, Role } from '../../../../lib/contract/server.ts';

/** One row of the member list: a group's name with how many are in it, or a member. */
export type MemberRow = { key: string; kind: 'group'; name: string; count: number } | { key: string; kind: 'member'; member: Member };

const byName = (a: Member, b: Member): number => a.user.displayName.localeCompare(b.user.displayName) || (a.user.id < b.user.id ? -1 : 1);

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
