import { expect } from 'chai';
import { sweepMemberships } from '../../lib/domain/access/memberships.ts';
import { finishRemoval } from '../../lib/domain/jobs/finish-removal.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { Client } from '../gateway/client.ts';
import type { InteractionFixture } from '../harness/interaction-fixture.ts';
import type { TestNode } from '../harness/parlance.ts';

/** Connects an account and returns the servers of its READY. */
export async function readServers({ gatewayUrl }: Pick<TestNode, 'gatewayUrl'>, token: string): Promise<string[]> {
  const client = new Client(Number(new URL(gatewayUrl).port));
  const { d } = await client.identify(token);
  client.ws.terminate();
  return d.servers;
}

/** Runs the sweep of memberships as it runs `ms` from now. */
export const sweepAfter = ({ worker }: Pick<InteractionFixture, 'worker'>, ms: number): Promise<void> =>
  sweepMemberships({ ...worker, now: () => Date.now() + ms });

/** Does what workers do in the seconds after a crash: relays the events of a server, continues removals and sweeps memberships. */
export async function finishAll(fixture: Pick<InteractionFixture, 'worker'>, serverId: string): Promise<void> {
  const { worker } = fixture;
  await relayEvents(worker, 'server', serverId);
  for (const { _id } of await worker.db.removals.find({ serverId }).toArray()) await finishRemoval(worker, _id);
  for (const ms of [11_000, 22_000]) await sweepAfter(fixture, ms);
}

/** Expects that exactly these accounts are members of a server, and that exactly these have a membership, without a mark. */
export async function expectMembers(
  { worker }: Pick<InteractionFixture, 'worker'>,
  serverId: string,
  userIds: readonly string[],
): Promise<void> {
  const { members, memberships } = worker.db;
  const stored = await members.find({ serverId }).toArray();
  const mirrored = await memberships.find({ serverId }).toArray();
  expect(stored.map(({ userId }) => userId)).to.have.members(userIds);
  expect(mirrored.map(({ userId }) => userId)).to.have.members(userIds);
  expect(mirrored.filter(({ checkAt }) => checkAt)).to.deep.equal([]);
  expect(mirrored.map(({ joinedAt }) => joinedAt.getTime())).to.have.members(stored.map(({ joinedAt }) => joinedAt.getTime()));
}
