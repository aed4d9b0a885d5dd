import type { Costs, Cpu, Part } from './costs.ts';
import { capacityMs, costOf, type Layout, newPlacesPerSession, type Population, placesPerSession, simulate } from './model.ts';

/** What the loss of one process costs. */
export interface Failure {
  lost: 'gateway' | 'worker' | 'api' | 'Redis master';
  /** Sessions that resume or catch up. */
  sessions: number;
  /** CPU time of that in all parts, in milliseconds. */
  cpu: Cpu | null;
  /** Seconds until everything works as before; infinite if the others cannot do the work. */
  seconds: number;
  /** Messages that arrive late. Their delay is at most `seconds`. */
  postsDelayed: number;
  /** The share of its CPU that the busiest process of the part uses afterwards. */
  shareAfter: number;
}

/** Times of the recovery, in seconds. */
const recovery = {
  /** A worker that is killed holds the posts of one pause after a run (docs/delivery.md#relay). */
  pause: 0.025,
  /** A sweep relays events that have been pending for 2 s, and runs every second. */
  sweep: 3,
  /** `cluster-node-timeout`, and a second for the election (docs/scaling.md#redis-cluster). */
  redisFailover: 6,
};

const shareOf = (layout: Layout, population: Population, costs: Costs, part: Part): number =>
  simulate(layout, population, costs).loads.find(({ name }) => name === part)?.share ?? 0;

function loseGateway(layout: Layout, population: Population, costs: Costs, spreadSec: number): Failure {
  const after = { ...layout, gateway: layout.gateway - 1 };
  const sessions = population.connections / layout.gateway;
  const { cpu: steady, deliveriesPerSec } = simulate(after, population, costs);
  const missed = (deliveriesPerSec / population.connections) * spreadSec;
  const openPlace = sessions * newPlacesPerSession(population, after.gateway);
  const rates = { resume: sessions, resumePlace: sessions * placesPerSession(population), replay: sessions * missed, openPlace };
  const cpu = costOf(rates, costs);
  const capacity = capacityMs(after);
  const busy: Part[] = ['gateway', 'redis', ...(costs.hasDatabase ? (['database'] as const) : [])];
  const times = busy.map((part) =>
    capacity[part] > steady[part] ? cpu[part] / (capacity[part] - steady[part]) : Number.POSITIVE_INFINITY,
  );
  const shareAfter = shareOf(after, population, costs, 'gateway');
  return { lost: 'gateway', sessions, cpu, seconds: Math.max(spreadSec, ...times), postsDelayed: 0, shareAfter };
}

/**
 * What the loss of a gateway node, a worker, an api process and a Redis master costs. Parts with a single process are left out: without it nothing works.
 * `spreadSec`: the time over which clients spread their first attempt to resume.
 */
export function failuresOf(layout: Layout, population: Population, costs: Costs, spreadSec: number): Failure[] {
  const posts = population.servers.reduce((sum, one) => sum + one.servers * one.postsPerSec, 0);
  const none = { sessions: 0, cpu: null, seconds: 0, postsDelayed: 0 };
  const without = (part: 'worker' | 'api'): number => shareOf({ ...layout, [part]: layout[part] - 1 }, population, costs, part);
  const { connections } = population;
  const perMaster = 1 / layout.redisMasters;
  return [
    ...(layout.gateway > 1 ? [loseGateway(layout, population, costs, spreadSec)] : []),
    ...(layout.worker > 1
      ? [
          {
            ...none,
            lost: 'worker' as const,
            seconds: recovery.sweep,
            postsDelayed: (posts / layout.worker) * recovery.pause,
            shareAfter: without('worker'),
          },
        ]
      : []),
    ...(layout.api > 1 ? [{ ...none, lost: 'api' as const, shareAfter: without('api') }] : []),
    ...(layout.redisMasters > 1
      ? [
          {
            ...none,
            lost: 'Redis master' as const,
            // Sessions with a place on that master read the log of their places again. Their account is a place too.
            sessions: connections * (1 - (1 - perMaster) ** (placesPerSession(population) + 1)),
            seconds: recovery.redisFailover,
            postsDelayed: posts * perMaster * recovery.redisFailover,
            shareAfter: shareOf(layout, population, costs, 'redis'),
          },
        ]
      : []),
  ];
}
