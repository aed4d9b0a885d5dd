import { expect } from 'chai';
import fc from 'fast-check';
import { computePermissions, type MemberRules, type Overwrite, permissionBits, type ServerRules } from '../../lib/base/permissions.ts';

const everything = Object.values(permissionBits).reduce((bits, bit) => bits | bit, 0);
const { Administrator, 'View Channel': view } = permissionBits;

/** The steps of docs/behavior/servers.md#calculation, one by one, without optimizations. */
function model(server: ServerRules, member: MemberRules, overwrites?: readonly Overwrite[]): number {
  if (server.ownerId === member.userId) return everything;
  const [everyone, ...others] = server.roles;
  const mine = others.filter((role) => member.roles.includes(role.id));
  const base = mine.reduce((bits, role) => bits | role.permissions, everyone?.permissions ?? 0);
  if (base & Administrator) return everything;
  if (!overwrites) return base;
  const apply = (bits: number, of: readonly Overwrite[]): number => {
    const denied = of.reduce((all, { deny }) => all | deny, 0);
    return of.reduce((all, { allow }) => all | allow, bits & ~denied);
  };
  const ofEveryone = overwrites.filter(({ id }) => id === server._id);
  const ofRoles = overwrites.filter(({ id }) => mine.some((role) => role.id === id));
  const ofMember = overwrites.filter(({ id }) => id === member.userId);
  const bits = apply(apply(apply(base, ofEveryone), ofRoles), ofMember);
  return bits & view ? bits : 0;
}

const bits = fc.integer({ min: 0, max: everything });
const someBits = bits.map((all) => all & ~Administrator);
const roleIds = ['role1', 'role2', 'role3', 'role4', 'gone'];
const [server, user] = ['server', 'user'];
/** A server, one of its members and the overwrites of a channel, at most one per id. `gone` is a deleted role that member and overwrites may still name. */
const cases = fc.record({
  ownerId: fc.constantFrom(...Array.from({ length: 9 }, () => 'another'), user),
  permissions: fc.tuple(someBits, fc.oneof({ weight: 9, arbitrary: someBits }, bits), someBits, someBits, someBits),
  roles: fc.subarray(roleIds),
  overwrites: fc.uniqueArray(fc.record({ id: fc.constantFrom(server, user, 'stranger', ...roleIds), allow: someBits, deny: someBits }), {
    selector: ({ id }) => id,
  }),
});

describe('computePermissions', () => {
  it('agrees with the reference calculation, in the server and in a channel', () => {
    fc.assert(
      fc.property(cases, ({ ownerId, permissions, roles, overwrites }) => {
        const rules = {
          _id: server,
          ownerId,
          roles: permissions.map((own, at) => ({ id: at === 0 ? server : `role${at}`, permissions: own })),
        };
        const member = { userId: user, roles };
        expect(computePermissions(rules, member)).to.equal(model(rules, member));
        expect(computePermissions(rules, member, overwrites)).to.equal(model(rules, member, overwrites));
      }),
      { numRuns: 2_000 },
    );
  });

  it('uses the current permissions of a role, not cached ones of another list of roles', () => {
    const member = { userId: user, roles: ['role1'] };
    const rules = (own: number): ServerRules => ({
      _id: server,
      ownerId: 'another',
      roles: [
        { id: server, permissions: 0 },
        { id: 'role1', permissions: own },
      ],
    });
    expect([view, 0, view].map((own) => computePermissions(rules(own), member))).to.deep.equal([view, 0, view]);
  });
});
