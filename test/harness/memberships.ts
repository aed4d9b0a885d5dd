import { insertMissing } from '../../lib/store/mongo/insert.ts';
import { toMembership } from '../../lib/store/mongo/memberships.ts';
import type { Platform } from '../../lib/store/platform.ts';
import { insertMembers, memberOf } from './seed.ts';

/** Makes a person a member of `count` servers that do not exist, in the first free slots of their list of servers. */
export async function fillMemberships(platform: Platform, userId: string, count: number): Promise<void> {
  const taken = (await platform.db.memberships.find({ userId }).toArray()).map(({ slot }) => slot);
  const slots = Array.from({ length: 100 }, (_, slot) => slot).filter((slot) => !taken.includes(slot));
  const made = slots.slice(0, count).map((slot) => ({ slot, member: memberOf(String(10n ** 18n + BigInt(slot)), userId, false) }));
  const memberships = made.map(({ slot, member }) => ({ ...toMembership(member), slot }));
  await insertMissing(platform.db.memberships, memberships);
  await insertMembers(
    platform,
    made.map(({ member }) => member),
  );
}
