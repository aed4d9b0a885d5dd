import { computePermissions, hasPermissions, permissionBits, toPermissionBits, toPermissionNames } from '@parlance/bot';
import { expect } from 'chai';
import fc from 'fast-check';
import * as service from '../../../lib/base/permissions.ts';

const bits = fc.integer({ min: 0, max: 8191 });
const ids = fc.constantFrom('server', 'a', 'b', 'c', 'gone', 'member', 'other');

describe('JavaScript kit: permissions', () => {
  it('translates names and bits', () => {
    expect(toPermissionBits(['View Channel', 'Ban Members'])).to.equal(1 | (1 << 11));
    expect(toPermissionNames(1 | (1 << 11))).to.deep.equal(['View Channel', 'Ban Members']);
    expect(permissionBits).to.deep.equal(service.permissionBits);
  });

  it('knows that an Administrator may do everything', () => {
    expect(hasPermissions(permissionBits.Administrator, 'Ban Members', 'View Channel')).to.equal(true);
    expect(hasPermissions(0b11, 'View Channel', 'Send Messages')).to.equal(true);
    expect(hasPermissions(0b01, 'View Channel', 'Send Messages')).to.equal(false);
  });

  it('computes the same permissions as the service', () => {
    fc.assert(
      fc.property(
        fc.tuple(bits, bits, bits, bits),
        fc.uniqueArray(ids),
        fc.uniqueArray(fc.record({ id: ids, allow: bits, deny: bits }), { selector: ({ id }) => id }),
        fc.constantFrom('member', 'owner'),
        fc.boolean(),
        ([everyone, a, b, c], roles, overwrites, ownerId, inChannel) => {
          const all = [
            ['server', everyone],
            ['a', a],
            ['b', b],
            ['c', c],
          ] as const;
          const lowestFirst = all.map(([id, permissions], position) => ({
            id,
            permissions,
            position,
            name: id,
            color: null,
            hoist: false,
          }));
          const held = roles.filter((id) => ['a', 'b', 'c', 'gone'].includes(id));
          const server = { id: 'server', ownerId, roles: lowestFirst.toReversed() };
          const rules = { _id: 'server', ownerId, roles: lowestFirst };
          const expected = service.computePermissions(rules, { userId: 'member', roles: held }, inChannel ? overwrites : undefined);
          expect(computePermissions(server, { id: 'member', roles: held }, inChannel ? { overwrites } : undefined)).to.equal(expected);
        },
      ),
    );
  });
});
