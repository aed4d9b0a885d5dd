import type { Costs } from './costs.ts';
import { type Layout, type PartLoad, type Population, type ServerClass, simulate } from './model.ts';

/** The activity that a sheet assumes. Rates are those of one session in an hour. */
export interface Assumptions {
  connections: number;
  /** Messages. */
  rate: number;
  typings: number;
  /** Channels that are opened: the client loads 50 messages, and moves the read mark. */
  reads: number;
  presences: number;
  connects: number;
  resumes: number;
  /** Sessions that watch an account. */
  watchers: number;
  /** Sessions in a small server. Larger ones have 10, 100 and 1,000 times as many. */
  members: number;
  /** Servers of a session. */
  serversEach: number;
  /** Channels of a small server in which messages are posted; larger ones have twice as many for each step. */
  channels: number;
  viewers: number;
  heartbeatSec: number;
}

/** The assumptions if the caller gives none, for 1,000 connections. */
export const defaultAssumptions: Assumptions = {
  connections: 1_000,
  rate: 12,
  typings: 12,
  reads: 30,
  presences: 2,
  connects: 0.5,
  resumes: 2,
  watchers: 20,
  members: 20,
  serversEach: 10,
  channels: 3,
  viewers: 0.9,
  heartbeatSec: 30,
};

/** Servers by size: how many times the sessions of a small one, and their share of all memberships and of all messages. Large servers are quieter per member. */
const sizes = [
  { times: 1, memberships: 0.5, messages: 0.6 },
  { times: 10, memberships: 0.3, messages: 0.25 },
  { times: 100, memberships: 0.15, messages: 0.12 },
  { times: 1_000, memberships: 0.05, messages: 0.03 },
];
/** No server has more than this share of all sessions. */
const largestShare = 0.2;
const hourSec = 3600;
/** A client that resumes was away for some seconds, and has missed a few events. */
const missedPerResume = 5;

/** The population that the assumptions describe. */
export function populationOf(assumed: Assumptions): Population {
  const { connections, members, serversEach } = assumed;
  const perSec = (perHour: number): number => (connections * perHour) / hourSec;
  const fitting = sizes.filter(({ times }) => times === 1 || members * times <= connections * largestShare);
  const sumOf = (pick: (size: (typeof sizes)[number]) => number): number => fitting.reduce((sum, size) => sum + pick(size), 0);
  const [memberships, messages] = [sumOf((size) => size.memberships), sumOf((size) => size.messages)];
  const servers = fitting.map((size, at): ServerClass => {
    const online = members * size.times;
    const count = (connections * serversEach * (size.memberships / memberships)) / online;
    return {
      servers: count,
      online,
      postsPerSec: (perSec(assumed.rate) * (size.messages / messages)) / count,
      channels: assumed.channels * 2 ** at,
    };
  });
  return {
    connections,
    servers,
    viewers: assumed.viewers,
    typingsPerSec: perSec(assumed.typings),
    readsPerSec: perSec(assumed.reads),
    marksPerSec: perSec(assumed.reads),
    presencesPerSec: perSec(assumed.presences),
    watchers: assumed.watchers,
    connectsPerSec: perSec(assumed.connects),
    resumesPerSec: perSec(assumed.resumes),
    missedPerResume,
    heartbeatSec: assumed.heartbeatSec,
  };
}

/** Redis masters beyond the partitions would have nothing to do (docs/scaling.md#partitions). */
const maxMasters = 16;
/** The number of processes that can run at a time (docs/scaling.md#limits-of-an-installation). */
const maxProcesses = 1_023;
/** With two of each role, one may fail. */
const leastProcesses = 2;
const rounds = 50;

/**
 * The smallest layout in which no part uses more than `share` of its CPU. A part that cannot be enlarged further, such as Redis beyond 16 masters, may use more.
 * If the database was not measured, it gets one shard.
 */
export function planLayout(
  population: Population,
  costs: Costs,
  { share, databaseCores }: { share: number; databaseCores: number },
): Layout {
  let layout: Layout = {
    api: leastProcesses,
    gateway: leastProcesses,
    worker: leastProcesses,
    redisMasters: 1,
    databaseShards: 1,
    databaseCores,
  };
  // More processes cost a little themselves, so repeat until nothing changes.
  for (let round = 0; round < rounds; round++) {
    const { loads } = simulate(layout, population, costs);
    const shareOf = (name: PartLoad['name']): number => loads.find((one) => one.name === name)?.share ?? 0;
    const grown = (name: PartLoad['name'], count: number, most: number): number =>
      Math.max(count, Math.min(most, Math.ceil((count * shareOf(name)) / share)));
    const next = {
      api: grown('api', layout.api, maxProcesses),
      gateway: grown('gateway', layout.gateway, maxProcesses),
      worker: grown('worker', layout.worker, maxProcesses),
      redisMasters: grown('redis', layout.redisMasters, maxMasters),
      databaseShards: grown('database', layout.databaseShards, maxProcesses),
      databaseCores,
    };
    if (JSON.stringify(next) === JSON.stringify(layout)) break;
    layout = next;
  }
  return layout;
}
