import { expect } from 'chai';
import { barrier } from '../../apps/gateway/lane.ts';
import { until } from '../harness/scene.ts';
import type { Client } from './client.ts';
import { contents, type Someone, startWorld, type World } from './world.ts';

/** A channel of the model, and who may not view it. */
interface Room {
  id: string;
  serverId: string;
  hiddenFrom: Set<string>;
}

/** What was posted: when, and where. */
interface Post {
  content: string;
  room: Room;
}

/** An account with one session: what it must have been given, and what it lacks while it is away. */
interface Member extends Someone {
  servers: Set<string>;
  client: Client | null;
  sessionId: string;
  s: string;
  given: string[];
  expected: string[];
  missed: Post[];
}

/** Numbers from 0 on that follow from `seed`. */
function createDice(seed: number): (below: number) => number {
  let x = (seed * 2_654_435_761) >>> 0 || 1;
  return (below) => {
    x ^= x << 13;
    x >>>= 0;
    x ^= x >>> 17;
    x ^= x << 5;
    x >>>= 0;
    return x % below;
  };
}

describe('gateway: a model of resume', function () {
  this.timeout(120_000);
  const worlds = new Map<number, World>();
  before(async () => {
    for (const partitions of [1, 3]) worlds.set(partitions, await startWorld(2, { LOG_PARTITIONS: String(partitions) }));
  });
  after(() => Promise.all([...worlds.values()].map((world) => world.close())));

  for (const [partitions, seed] of [1, 3].flatMap((k) => [1, 2, 3].map((first) => [k, first] as const)))
    it(`any sequence of posts, rule changes, joins, bans, cuts and resumes gives each session exactly what it may see, ${partitions} partitions, seed ${seed}`, async () => {
      const world = worlds.get(partitions) ?? expect.fail();
      const dice = createDice(seed);
      const pick = <T>(some: readonly T[]): T => some[dice(some.length)] as T;
      const servers = [await world.server(), await world.server(), await world.server()];
      const rooms: Room[] = [];
      for (const serverId of [...servers, ...servers]) rooms.push({ id: await world.channel(serverId), serverId, hiddenFrom: new Set() });
      const members: Member[] = [];
      for (let i = 0; i < 8; i++) {
        const here = servers.filter(() => dice(3) > 0);
        const one = await world.someone(i % 2 ? 'bot' : 'person', ...here);
        members.push({ ...one, servers: new Set(here), client: null, sessionId: '', s: '', given: [], expected: [], missed: [] });
      }
      const mayView = (one: Member, { serverId, hiddenFrom }: Room): boolean => one.servers.has(serverId) && !hiddenFrom.has(one.id);
      const take = (one: Member): void => {
        const { client } = one;
        if (!client) return;
        for (const frame of client.frames.splice(0)) {
          if (frame.s) one.s = frame.s;
          if (frame.t === 'MESSAGE_CREATE') one.given.push(...(contents([frame]) as string[]));
          if (frame.t === 'READY') one.sessionId = String(frame.d.sessionId);
          expect(frame.op, JSON.stringify(frame)).not.to.equal(9);
        }
      };
      let posted = 0;
      const placeOf = new Map<string, string>();
      const isGiven = (one: Member): boolean => {
        take(one);
        return one.given.length >= one.expected.length;
      };
      // What no session may see is passed, too: it would be judged anew after a change.
      const settle = async (): Promise<void> => {
        for (const { node } of world.nodes) {
          await Promise.all(node.lanes.map((lane) => barrier(node, lane)));
          await until(() => [...node.sessions.values()].every(({ state }) => state === 'live'), 'the replays');
        }
        for (const one of members)
          if (one.client) await until(() => isGiven(one), `${one.expected.length} events, not ${one.given.length}`);
        // Once each, and in the order of each server.
        for (const { given, expected } of members) {
          expect(given.toSorted()).to.deep.equal(expected.toSorted());
          for (const id of servers)
            expect(given.filter((content) => placeOf.get(content) === id)).to.deep.equal(
              expected.filter((content) => placeOf.get(content) === id),
            );
        }
      };
      const enter = async (one: Member): Promise<void> => {
        const client = world.connect(dice(world.nodes.length));
        one.client = client;
        if (one.sessionId) await client.resume(one.token, one.sessionId, one.s);
        else {
          await client.until(10);
          client.send({ op: 2, d: { token: one.token } });
        }
        one.expected.push(...one.missed.filter(({ room }) => mayView(one, room)).map(({ content }) => content));
        one.missed = [];
        await until(() => client.frames.some(({ t }) => t === 'READY' || t === 'RESUMED'), 'the greeting');
        take(one);
      };
      const leave = async (one: Member): Promise<void> => {
        await settle();
        await one.client?.cut();
        one.client = null;
      };
      const post = async (room: Room): Promise<void> => {
        const content = `${seed} ${posted++}`;
        placeOf.set(content, room.serverId);
        for (const one of members)
          if (one.client && mayView(one, room)) one.expected.push(content);
          else if (!one.client && one.servers.has(room.serverId)) one.missed.push({ content, room });
        await world.post(room.serverId, room.id, content);
      };
      // What was posted before a change is judged after it, when it is only given then: so it is given first.
      const setView = async (room: Room, one: Member, hidden: boolean): Promise<void> => {
        await settle();
        if (hidden) room.hiddenFrom.add(one.id);
        else room.hiddenFrom.delete(one.id);
        await world.overwrite(
          room.serverId,
          room.id,
          [...room.hiddenFrom].map((id) => ({ id, allow: 0, deny: 1 })),
        );
      };
      const move = async (one: Member, serverId: string): Promise<void> => {
        await settle();
        if (one.servers.delete(serverId)) {
          await world.leave(serverId, one.id);
          one.missed = one.missed.filter(({ room }) => room.serverId !== serverId);
          if (dice(2)) await post(pick(rooms));
          await world.tellGone(serverId, one.id);
        } else {
          const tell = await world.joinUntold(serverId, one.id, members.indexOf(one) % 2 === 1);
          one.servers.add(serverId);
          if (dice(2)) await post(pick(rooms));
          await tell();
        }
      };
      for (const one of members) await enter(one);
      for (let step = 0; step < 150; step++) {
        const one = pick(members);
        const what = dice(20);
        if (what < 10) await post(pick(rooms));
        else if (what < 13) await (one.client ? leave(one) : enter(one));
        else if (what < 16) await setView(pick(rooms), one, dice(2) === 0);
        else if (what < 18) await move(one, pick(servers));
        else if (what === 18) await world.unheard(pick(servers), () => post(pick(rooms)));
        else {
          const { node } = pick(world.nodes);
          for (const lane of node.lanes) node.interrupt(lane);
        }
        if (dice(4) === 0) await settle();
      }
      for (const one of members) if (!one.client) await enter(one);
      await settle();
      for (const one of members) await one.client?.cut();
    });
});
