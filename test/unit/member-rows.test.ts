import { expect } from 'chai';
import { memberRows } from '../../apps/web/client/panels/member-rows.ts';
import type { Member } from '../../lib/contract/member.ts';
import type { Role } from '../../lib/contract/server.ts';

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
/** The rows as text: `# group count`, then names. */
const read = (...all: Parameters<typeof memberRows>): string[] =>
  memberRows(...all).map((row) => (row.kind === 'group' ? `# ${row.name} ${row.count}` : row.member.user.displayName));

describe('memberRows', () => {
  const roles = [role('high', 3, true), role('plain', 2, false), role('low', 1, true), role('server', 0, false)];

  it('groups online members by their highest hoisted role, then other online members, then offline members', () =>
    expect(
      read(roles, [
        member('Zoe', 'online'),
        member('Ann', 'dnd', ['plain']),
        member('Bob', 'idle', ['low', 'high']),
        member('Cat', 'online', ['low']),
        member('Dan', 'offline', ['high']),
      ]),
    ).to.deep.equal(['# role high 1', 'Bob', '# role low 1', 'Cat', '# Online 2', 'Ann', 'Zoe', '# Offline 1', 'Dan']));

  it('omits empty groups', () => expect(read(roles, [])).to.deep.equal([]));

  it('lists each of 10,000 members once, with unique keys', () => {
    const many = Array.from({ length: 10_000 }, (_, at) => member(`m${at}`, at % 3 ? 'online' : 'offline', at % 5 ? [] : ['low']));
    const rows = memberRows(roles, many);
    expect(new Set(rows.map(({ key }) => key)).size).to.equal(rows.length);
    expect(rows.filter(({ kind }) => kind === 'member')).to.have.length(10_000);
  });
});
