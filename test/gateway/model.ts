import { expect } from 'chai';
import { WebSocket } from 'ws';
import { waitForBarrier } from '../../apps/gateway/lane.ts';
import { readPosition } from '../../lib/store/redis/log/position.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { contents } from './gateway-fixture.ts';
import { createDice, type Member, type ModelFixture } from './model-fixture.ts';
import { createExpectation, type ModelChannel, type ModelServer, view } from './reference.ts';
import { takeSnapshot } from './rollback.ts';

/** How many steps a run takes. */
const stepCount = 120;

/** Runs the steps determined by `seed`, and compares what each session receives with the reference. Calls `note` with each step. */
export async function runModel(
  { fixture, redisUrl, links, database }: ModelFixture,
  seed: number,
  note: (step: string) => void,
): Promise<void> {
  const { ids } = fixture.worker;
  const dice = createDice(seed);
  const pick = <T>(some: readonly T[]): T => some[dice(some.length)] as T;
  const servers: ModelServer[] = [];
  const channels: ModelChannel[] = [];
  const members: Member[] = [];
  let posts = 0;
  /** Whether nodes may not have received a post yet. Real publications are lost only with the connection, so no client may leave with a later position. */
  let mayHaveMissed = false;
  /** Whether acknowledged entries were lost, so that op 9 is expected. */
  let isLossy = false;

  const changeRules = async (server: ModelServer, write: () => Promise<unknown>): Promise<void> => {
    await write();
    note(`rules of ${server.id}: @everyone ${server.everyoneViews}, role ${server.roleViews}`);
    for (const { expected } of members) expected.changed();
  };
  const writeRoles = ({ id, roleId, everyoneViews, roleViews }: ModelServer): Promise<unknown> =>
    fixture.setRoles(
      id,
      new Map([
        [id, everyoneViews ? view : 0],
        [roleId, roleViews ? view : 0],
      ]),
    );
  const take = (one: Member): void => {
    for (const frame of one.client?.frames.slice(one.taken) ?? []) {
      one.taken++;
      if (frame.op === 9) {
        expect(isLossy, `op 9: ${JSON.stringify(frame.d)}`).to.equal(true);
        Object.assign(one, { sessionId: '', s: '' });
        one.expected.invalidated();
      }
      if (frame.s) {
        const [before, now] = [one.s, frame.s].map((s) => readPosition(s, fixture.config.LOG_PARTITIONS)?.numbers ?? []);
        expect(
          now?.every((n, k) => n >= (before?.[k] ?? 0)),
          `${one.s} before ${frame.s}`,
        ).to.equal(true);
        one.s = frame.s;
      }
      if (frame.t === 'READY') one.sessionId = String(frame.d.sessionId);
      if (frame.t === 'READY') one.expected.began();
      if (frame.t === 'RESUMED') one.expected.resumed();
      if (frame.t === 'MESSAGE_CREATE') one.expected.received(Number(contents([frame])[0]));
    }
  };
  const isOpen = ({ client }: Member): boolean => (client?.ws.readyState ?? WebSocket.CLOSED) <= WebSocket.OPEN;
  /** Connects the member to random nodes until it is ready or has resumed. */
  const connectMember = async (one: Member): Promise<void> => {
    for (let result = ''; !result; ) {
      links[1].mend();
      const node = dice(fixture.nodes.length);
      note(`${one.id} connects to node ${node} at ${one.s || 'no position'}`);
      const client = fixture.connect(node);
      Object.assign(one, { client, taken: 0 });
      const has = (op: number, t?: string): boolean => client.frames.some((frame) => frame.op === op && frame.t === t);
      await waitUntil(() => has(10) || !isOpen(one), 'op 10');
      const { token, sessionId } = one;
      client.send(sessionId ? { op: 6, d: { token, sessionId, seq: one.s } } : { op: 2, d: { token } });
      await waitUntil(() => has(0, 'READY') || has(0, 'RESUMED') || has(9) || client.ws.readyState === client.ws.CLOSED, 'an answer');
      result = has(0, 'READY') ? 'READY' : has(0, 'RESUMED') ? 'RESUMED' : '';
      take(one);
      note(`${one.id}: ${result || 'refused'} at ${one.s}`);
      if (!result) await client.cut();
    }
  };
  const disconnectMember = async (one: Member): Promise<void> => {
    if (mayHaveMissed) await waitAndCheck();
    await one.client?.cut();
    take(one);
    one.client = null;
    note(`${one.id} is disconnected at ${one.s}`);
    if (one.sessionId) one.expected.disconnected();
  };
  /** Waits until every session has received what it must receive, and compares. */
  const waitAndCheck = async (): Promise<void> => {
    note('check');
    links[1].mend();
    mayHaveMissed = false;
    for (const { node } of fixture.nodes) {
      await Promise.all(node.lanes.map((lane) => waitForBarrier(node, lane)));
      await waitUntil(() => [...node.sessions.values()].every(({ state }) => state === 'live'), 'the replays');
    }
    for (const one of members.filter(({ client }) => client)) {
      const acked = (): number => one.client?.frames.filter(({ op }) => op === 11).length ?? 0;
      const before = acked();
      if (isOpen(one)) one.client?.send({ op: 1, d: null });
      await waitUntil(() => acked() > before || !isOpen(one), 'the answer to a heartbeat');
      take(one);
      if (!isOpen(one)) {
        await disconnectMember(one);
        await connectMember(one);
      }
    }
    for (const one of members) one.expected.check(`${one.bot ? 'bot' : 'person'} ${one.id}`);
  };
  const post = async (channel: ModelChannel): Promise<void> => {
    const n = posts++;
    note(`post ${n} in ${channel.id}`);
    for (const { expected } of members) expected.posted({ n, channel });
    await fixture.postUntilAcknowledged(channel.server.id, channel.id, String(n));
  };
  const overwrite = async (channel: ModelChannel, id: string): Promise<void> => {
    const what = dice(3);
    if (what === 0) channel.overwrites.delete(id);
    else channel.overwrites.set(id, { id, allow: what === 1 ? view : 0, deny: what === 2 ? view : 0 });
    const overwrites = [...channel.overwrites.values()];
    note(`overwrites of ${channel.id}: ${JSON.stringify(overwrites)}`);
    await changeRules(channel.server, () => fixture.overwrite(channel.server.id, channel.id, overwrites));
  };
  const setRole = async ({ id, roleId, members: inServer }: ModelServer, one: Member, hasRole: boolean): Promise<void> => {
    const member = inServer.get(one.id);
    if (!member) return;
    note(`role of ${one.id} in ${id}: ${hasRole}`);
    member.hasRole = hasRole;
    await fixture.setMemberRole(id, one.id, roleId, hasRole);
    one.expected.changed();
  };
  /** Makes a member join or leave. That is relayed at once, or before another post. */
  const move = async (one: Member, server: ModelServer): Promise<void> => {
    const isMember = server.members.has(one.id);
    note(`${one.id} ${isMember ? 'leaves' : 'joins'} ${server.id}`);
    const appendEvent = isMember
      ? await fixture.leaveWithoutEvent(server.id, one.id)
      : await fixture.joinWithoutEvent(server.id, one.id, one.bot);
    if (isMember) server.members.delete(one.id);
    else server.members.set(one.id, { hasRole: false });
    one.expected.changed();
    if (dice(2)) await post(pick(channels));
    await appendEvent();
    note(`the event for ${one.id} was appended`);
  };
  const isUp = (at: number): boolean => {
    const { node } = fixture.nodes[at] as (typeof fixture.nodes)[number];
    return node.lanes.every(({ partition }) => node.eventLog.isUp(partition));
  };
  const waitForRedis = (): Promise<void> => waitUntil(() => fixture.worker.isRedisUp() && isUp(0) && isUp(1), 'Redis');
  /** Restarts Redis without the last posts, or without any loss. */
  const loseWrites = async (): Promise<void> => {
    note('snapshot');
    await waitAndCheck();
    const snapshot = await takeSnapshot(redisUrl, fixture.config.REDIS_PREFIX);
    for (let left = dice(3); left > 0; left--, isLossy = true) await post(pick(channels));
    if (dice(2)) await waitAndCheck();
    note('restore');
    for (const link of links) link.cut();
    await waitUntil(() => !fixture.worker.isRedisUp() && !isUp(0) && !isUp(1), 'the cut');
    await snapshot.restore();
    for (const link of links) link.mend();
    await waitForRedis();
  };

  for (let i = 0; i < 3; i++) {
    const server = { id: await fixture.makeServer(), roleId: ids.next(), everyoneViews: true, roleViews: true, members: new Map() };
    servers.push(server);
    for (let j = 0; j < 2; j++) channels.push({ id: await fixture.makeChannel(server.id), server, overwrites: new Map() });
    await changeRules(server, () => writeRoles(server));
  }
  for (let i = 0; i < 8; i++) {
    const bot = i % 2 === 1;
    const one = await fixture.makeAccount(bot ? 'bot' : 'person');
    members.push({ ...one, bot, client: null, sessionId: '', s: '', taken: 0, expected: createExpectation(one.id) });
    for (const server of servers) if (dice(3) > 0) await move(members.at(-1) as Member, server);
  }
  for (const one of members) await connectMember(one);
  const toggle = (which: 'everyoneViews' | 'roleViews') => async (): Promise<void> => {
    const server = pick(servers);
    server[which] = !server[which];
    await changeRules(server, () => writeRoles(server));
  };
  const toggleConnection = (one = pick(members)): Promise<void> => (one.client ? disconnectMember(one) : connectMember(one));
  const overwriteAny = (channel = pick(channels)): Promise<void> =>
    overwrite(channel, pick([channel.server.id, channel.server.roleId, pick(members).id]));
  /** Posts a message that no node receives when it is published. */
  const postUndelivered = async (): Promise<void> => {
    links[1].mend();
    await waitForRedis();
    const channel = pick(channels);
    note('undelivered');
    mayHaveMissed = true;
    await fixture.withoutDelivery(channel.server.id, () => post(channel));
  };
  const interrupt = (at = dice(fixture.nodes.length)): void => {
    note(`node ${at} is interrupted`);
    for (const lane of fixture.nodes[at]?.node.lanes ?? []) fixture.nodes[at]?.node.interrupt(lane);
  };
  const cutRedis = async (): Promise<void> => {
    note('cut');
    links[1].cut();
    await waitUntil(() => !isUp(1), 'the cut');
  };
  const mendRedis = (): void => {
    note('mend');
    links[1].mend();
  };
  const slowDown = (): void => {
    const ms = pick([0, 0, 40]);
    note(`the database answers ${ms} ms later`);
    database.delay(ms);
  };
  const steps: [weight: number, step: () => Promise<void> | void][] = [
    [40, () => post(pick(channels))],
    [14, () => toggleConnection()],
    [8, () => overwriteAny()],
    [3, toggle('everyoneViews')],
    [3, toggle('roleViews')],
    [6, () => setRole(pick(servers), pick(members), dice(2) === 0)],
    [8, () => move(pick(members), pick(servers))],
    [4, postUndelivered],
    [4, () => interrupt()],
    [3, cutRedis],
    [4, mendRedis],
    [4, slowDown],
    [2, loseWrites],
    [20, waitAndCheck],
  ];
  const bag = steps.flatMap(([weight, step]) => Array.from({ length: weight }, () => step));
  for (let i = 0; i < stepCount; i++) await pick(bag)();
  database.delay(0);
  for (const one of members) if (!one.client) await connectMember(one);
  await waitAndCheck();
  for (const one of members) await one.client?.cut();
}
