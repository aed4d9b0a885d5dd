import { expect } from 'chai';
import { memberRows } from '../../apps/web/client/panels/member-rows.ts';
import type { Member, Role } from '../../lib/contract/server.ts';

const role = (id: string, position: number, hoist: boolean): Role => ({
  id,
  name: `role ${id}`,
  color: null,
  hoist,
  position,
  permissions: 0,
});
const member = (name: string, status: Member['status'], roles: string[] = []): Member => ({
  user: { id: name, username: name, displayName: name, avatarUrl: null },
  status,
  customStatus: null,
  isOwner: false,
  roles,
});
/** As one reads it: `# group count`, then names. */
const read = (...all: Parameters<typeof memberRows>): string[] =>
  memberRows(...all).map((row) => (row.kind === 'group' ? `# ${row.name} ${row.count}` : row.member.user.displayName));

describe('web: rows of the member list', () => {
  const roles = [role('high', 3, true), role('plain', 2, false), role('low', 1, true), role('server', 0, false)];

  it('who is online stands in their highest hoisted role, highest first; then the others online, then who is offline', () =>
    expect(
      read(roles, [
        member('Zoe', 'online'),
        member('Ann', 'dnd', ['plain']),
        member('Bob', 'idle', ['low', 'high']),
        member('Cat', 'online', ['low']),
        member('Dan', 'offline', ['high']),
      ]),
    ).to.deep.equal(['# role high 1', 'Bob', '# role low 1', 'Cat', '# Online 2', 'Ann', 'Zoe', '# Offline 1', 'Dan']));

  it('a group without anyone is not shown', () => expect(read(roles, [])).to.deep.equal([]));

  it('10,000 members keep every row once, under keys of their own', () => {
    const many = Array.from({ length: 10_000 }, (_, at) => member(`m${at}`, at % 3 ? 'online' : 'offline', at % 5 ? [] : ['low']));
    const rows = memberRows(roles, many);
    expect(new Set(rows.map(({ key }) => key)).size).to.equal(rows.length);
    expect(rows.filter(({ kind }) => kind === 'member')).to.have.length(10_000);
  });
});
