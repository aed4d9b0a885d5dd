import { expect } from 'chai';
import fc from 'fast-check';
import { computePermissions, permissionBits } from '../../../lib/base/permissions.ts';
import { usePrograms } from './python-fixture.ts';

const bits = fc.integer({ min: 0, max: 8191 });
const ids = fc.constantFrom('server', 'a', 'b', 'c', 'gone', 'member', 'other');
const anyCase = fc.record({
  permissions: fc.tuple(bits, bits, bits, bits),
  roles: fc.subarray(['a', 'b', 'c', 'gone']),
  overwrites: fc.uniqueArray(fc.record({ id: ids, allow: bits, deny: bits }), { selector: ({ id }) => id }),
  ownerId: fc.constantFrom('member', 'owner', 'owner', 'owner'),
  isInChannel: fc.boolean(),
});

describe('sdk/python: permissions', () => {
  const run = usePrograms();

  it('are the same as those of the service', async () => {
    const cases = fc.sample(anyCase, 500).map(({ permissions, roles, overwrites, ownerId, isInChannel }) => {
      const lowestFirst = ['server', 'a', 'b', 'c'].map((id, at) => ({ id, permissions: permissions[at] ?? 0 }));
      const channel = isInChannel ? { overwrites } : null;
      return {
        server: { id: 'server', ownerId, roles: lowestFirst.toReversed() },
        rules: { _id: 'server', ownerId, roles: lowestFirst },
        roles,
        channel,
      };
    });
    const program = run('permissions');
    program.write(cases);
    const { results, names } = await program.waitFor(() => true);
    const expected = cases.map(({ rules, roles, channel }) => computePermissions(rules, { userId: 'member', roles }, channel?.overwrites));
    expect(results).to.deep.equal(expected);
    const flags = Object.entries(permissionBits).map(([name, bit]) => [name.toUpperCase().replaceAll(' ', '_'), bit]);
    expect(names).to.deep.equal(Object.fromEntries(flags));
  });
});
