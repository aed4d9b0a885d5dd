import { expect } from 'chai';
import { type Action, actions, type Costs, type Cpu, noCpu } from '../simulate/costs.ts';
import { failuresOf } from '../simulate/failures.ts';
import {
  busyShare,
  countActions,
  type Layout,
  newPlacesPerSession,
  nodesReached,
  type Population,
  simulate,
  uncachedShare,
} from '../simulate/model.ts';
import { defaultAssumptions, planLayout, populationOf } from '../simulate/plan.ts';

const cpu = (some: Partial<Cpu>): Cpu => ({ ...noCpu(), ...some });

/** Costs in which nothing costs anything, except what `some` says. */
const costsOf = (some: Partial<Record<Action, Partial<Cpu>>> = {}, idle: Partial<Cpu> = {}): Costs => ({
  hasDatabase: true,
  referenceMs: 1,
  idle: { api: cpu({ api: idle.api ?? 0 }), gateway: noCpu(), worker: cpu({ database: idle.database ?? 0 }) },
  actions: Object.fromEntries(Object.keys(actions).map((action) => [action, cpu(some[action as Action] ?? {})])) as Record<Action, Cpu>,
  memory: {
    process: { api: 0, gateway: 1_000, worker: 0 },
    session: 10,
    sessionPlace: 2,
    place: 5,
    redisSession: 7,
    redisEntry: 100,
    redisMark: 3,
  },
  bytes: { frame: 600, storedMessage: 400, heartbeat: 20 },
});

const layout = (some: Partial<Layout> = {}): Layout => ({
  api: 1,
  gateway: 1,
  worker: 1,
  redisMasters: 1,
  databaseShards: 1,
  databaseCores: 1,
  ...some,
});

/** 100 sessions in 10 servers of 10, in which nothing happens except what `some` says. */
const population = (some: Partial<Population> = {}): Population => ({
  connections: 100,
  servers: [{ servers: 10, online: 10, postsPerSec: 0, channels: 1 }],
  viewers: 1,
  typingsPerSec: 0,
  readsPerSec: 0,
  marksPerSec: 0,
  presencesPerSec: 0,
  watchers: 0,
  connectsPerSec: 0,
  resumesPerSec: 0,
  missedPerResume: 0,
  heartbeatSec: 10,
  ...some,
});
const posting = (postsPerSec: number): Partial<Population> => ({ servers: [{ servers: 10, online: 10, postsPerSec, channels: 1 }] });

describe('capacity model', () => {
  for (const [sessions, nodes, reached] of [
    [10, 1, 1],
    [0, 4, 0],
    [1, 4, 1],
    [2, 2, 1.5],
    [10_000, 4, 4],
  ] as const)
    it(`${sessions} sessions are on ${reached} of ${nodes} nodes`, () =>
      expect(nodesReached(sessions, nodes)).to.be.closeTo(reached, 1e-6));

  for (const [postsPerSec, workers, least, most] of [
    [0, 1, 0, 0],
    [0.01, 1, 0, 0.001],
    [20, 1, 0.999, 1],
    [20, 100, 0.99, 1],
    [0.5, 1, 0.15, 0.16],
    [0.5, 10, 0.02, 0.1],
  ] as const)
    it(`of ${postsPerSec} posts/s in a channel, ${least} to ${most} find one of ${workers} workers that stays`, () =>
      expect(busyShare(postsPerSec, workers)).to.be.within(least, most));

  for (const [perSec, apis, share] of [
    [0, 1, 1],
    [1 / 30, 1, 0.5],
    [1 / 30, 2, 2 / 3],
    [30, 1, 1 / 901],
  ] as const)
    it(`of the calls of people who make ${perSec.toFixed(3)} calls/s to ${apis} api processes, ${share.toFixed(3)} find nothing cached`, () =>
      expect(uncachedShare(perSec, apis)).to.be.closeTo(share, 1e-9));

  const counts: [name: string, some: Partial<Population>, nodes: number, action: Action, perSec: number][] = [
    ['a post is sent to each session of its server', posting(1), 1, 'delivery', 100],
    ['a post reaches each node with sessions of its server', posting(1), 2, 'entry', 10 * nodesReached(10, 2)],
    ['a post that half of the sessions see is sent to half of them', { ...posting(1), viewers: 0.5 }, 1, 'delivery', 50],
    ['a post is not sent by nodes whose sessions do not see it', { ...posting(1), viewers: 0 }, 2, 'unsentEntry', 10 * nodesReached(10, 2)],
    ['typing is not sent to who types', { ...posting(1), typingsPerSec: 10 }, 1, 'delivery', 100 + 90],
    ['a read mark is sent to one session', { marksPerSec: 3 }, 1, 'delivery', 3],
    ['a status is sent to watchers', { presencesPerSec: 3, watchers: 4 }, 1, 'delivery', 12],
    ['each session sends heartbeats', {}, 1, 'heartbeat', 10],
    ['a resume replays what was missed', { resumesPerSec: 2, missedPerResume: 5 }, 1, 'replay', 10],
    ['a session costs for each of its servers', { connectsPerSec: 2 }, 1, 'connectPlace', 2],
    ['a node knows the servers of its other sessions', { connectsPerSec: 2 }, 1, 'openPlace', 0],
    ['a session is often the first of its server on one of many nodes', { connectsPerSec: 2 }, 1_000, 'openPlace', 2 * 0.999 ** 9],
  ];
  for (const [name, some, gateway, action, perSec] of counts)
    it(name, () => expect(countActions(layout({ gateway }), population(some))[action]).to.be.closeTo(perSec, 1e-6));

  it('adds what processes use without load', () => {
    const { cpu: used } = simulate(layout({ api: 3, worker: 2 }), population(), costsOf({}, { api: 5, database: 7 }));
    expect(used).to.deep.equal(cpu({ api: 15, database: 14 }));
  });

  it('finds the part that saturates first, and at which load', () => {
    const costs = costsOf({ read: { api: 2, database: 20 } }, { database: 200 });
    const { first, loads } = simulate(layout({ databaseCores: 2 }), population({ readsPerSec: 10 }), costs);
    expect(first).to.include({ name: 'database', share: 0.2, saturatesAt: 9 });
    expect(loads.find(({ name }) => name === 'api')).to.include({ share: 0.02, saturatesAt: 50 });
  });

  it('leaves the database out if it was not measured', () => {
    const { loads } = simulate(layout(), population(), { ...costsOf(), hasDatabase: false });
    expect(loads.map(({ name }) => name)).to.not.include('database');
  });

  it('adds up the memory of a gateway node', () => {
    const { memory } = simulate(layout({ gateway: 2 }), population(), costsOf());
    expect(memory.gateway).to.be.closeTo(1_000 + 50 * (10 + 2) + 5 * nodesReached(10, 2) * 5, 1e-6);
  });

  it('a lost gateway node costs the resumes of its sessions on the others', () => {
    const costs = costsOf({ resume: { gateway: 30 }, openPlace: { database: 10 } });
    const [failure] = failuresOf(layout({ gateway: 4 }), population(), costs, 0.1);
    expect(failure).to.include({ lost: 'gateway', sessions: 25 });
    expect(failure?.cpu).to.deep.include({ gateway: 750, database: 25 * newPlacesPerSession(population(), 3) * 10 });
    expect(failure?.seconds).to.be.closeTo(0.25, 1e-9);
  });

  it('sessions never come back when the other nodes have no time left', () => {
    const costs = costsOf({ sessionSecond: { gateway: 15 }, resume: { gateway: 1 } });
    const [failure] = failuresOf(layout({ gateway: 2 }), population(), costs, 10);
    expect(failure?.seconds).to.equal(Number.POSITIVE_INFINITY);
    expect(failure?.shareAfter).to.equal(1.5);
  });

  it('leaves out the loss of a part that has one process', () => {
    expect(failuresOf(layout({ worker: 2 }), population(), costsOf(), 10).map(({ lost }) => lost)).to.deep.equal(['worker']);
  });

  for (const connections of [1_000, 100_000, 1_000_000])
    it(`${connections} connections have the servers and messages that are assumed, and a layout with room`, () => {
      const assumed = { ...defaultAssumptions, connections };
      const found = populationOf(assumed);
      const memberships = found.servers.reduce((sum, one) => sum + one.servers * one.online, 0);
      const posts = found.servers.reduce((sum, one) => sum + one.servers * one.postsPerSec, 0);
      expect(memberships).to.be.closeTo(connections * assumed.serversEach, 1e-3);
      expect(posts).to.be.closeTo((connections * assumed.rate) / 3_600, 1e-6);
      const costs = costsOf({ delivery: { gateway: 0.01 }, postQuiet: { api: 1, redis: 0.1, database: 2 }, read: { database: 2 } });
      const { loads } = simulate(planLayout(found, costs, { share: 0.6, databaseCores: 8 }), found, costs);
      for (const { name, share } of loads.slice(0, 5)) expect(share, name).to.be.at.most(0.6 + 1e-9);
    });
});
