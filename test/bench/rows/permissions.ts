import { computePermissions, type MemberRules, type Overwrite, type ServerRules } from '../../../lib/base/permissions.ts';
import { type Row, shareRow } from '../report.ts';
import type { Bench } from '../setting.ts';

const roles = 100;
const held = 10;
const overwrites = 20;
const checks = 200_000;

/** Realistic ids: all of the same length and with the same beginning. */
const id = (at: number): string => `12345678901${String(10_000_000 + at * 7919)}`;

/**
 * A member with ten of a hundred roles, and a channel with twenty overwrites: for everyone, for five of the member's roles, for other roles, for the member.
 */
function fixture(): { server: ServerRules; member: MemberRules; channel: Overwrite[] } {
  const server = {
    _id: id(0),
    ownerId: id(9_999),
    roles: Array.from({ length: roles + 1 }, (_, at) => ({ id: id(at), permissions: at === 0 ? 1 : 1 << (at % 12) })),
  };
  const mine = Array.from({ length: held }, (_, at) => id(1 + at * 9));
  const others = Array.from({ length: overwrites - held / 2 - 2 }, (_, at) => id(2 + at * 7 + (at % 2)));
  const changed = [server._id, ...mine.slice(0, held / 2), ...others, id(5_000)];
  return {
    server,
    // Each id is a copy, as in documents from the database: an equal string in a different object.
    member: { userId: id(5_000), roles: mine.map((one) => Buffer.from(one).toString()) },
    channel: changed.map((one, at) => ({ id: Buffer.from(one).toString(), allow: 1 << (at % 5), deny: 1 << (5 + (at % 6)) })),
  };
}

/**
 * Permission checks/s of `computePermissions`, compared with a bare loop of the same bit operations on the roles and overwrites that apply, looked up beforehand.
 */
export async function permissionRows(bench: Bench): Promise<Row[]> {
  const { server, member, channel } = fixture();
  const mine = new Set(member.roles);
  const own = server.roles.filter((role, at) => at === 0 || mine.has(role.id)).map((role) => role.permissions);
  const existing = new Set(server.roles.map((role) => role.id));
  const everyoneOverwrites = channel.filter((one) => one.id === server._id);
  const roleOverwrites = channel.filter((one) => one.id !== server._id && mine.has(one.id) && existing.has(one.id));
  const memberOverwrites = channel.filter((one) => one.id === member.userId);
  const bare = (): number => {
    let bits = 0;
    for (const permissions of own) bits |= permissions;
    for (const { allow, deny } of everyoneOverwrites) bits = (bits & ~deny) | allow;
    let [allowed, denied] = [0, 0];
    for (const { allow, deny } of roleOverwrites) {
      allowed |= allow;
      denied |= deny;
    }
    bits = (bits & ~denied) | allowed;
    for (const { allow, deny } of memberOverwrites) bits = (bits & ~deny) | allow;
    return bits & 1 ? bits : 0;
  };
  const ourOne = (): number => computePermissions(server, member, channel);
  if (ourOne() !== bare()) throw new Error(`${ourOne()} is not ${bare()}`);
  const round = (check: () => number): number => {
    let sum = 0;
    const began = performance.now();
    for (let at = 0; at < checks; at++) sum += check();
    const perSecond = checks / ((performance.now() - began) / 1000);
    return sum === 0 ? 0 : perSecond;
  };
  const [ours, limit]: [number[], number[]] = [[], []];
  for (let i = 0; i < bench.rounds + 1; i++) {
    const [one, other] = [round(ourOne), round(bare)];
    if (i === 0) continue; // the first round warms up
    ours.push(one);
    limit.push(other);
  }
  return [shareRow(`permission checks, ${overwrites} overwrites, ${held} of ${roles} roles`, 'checks/s', ours, limit, 0.02)];
}
