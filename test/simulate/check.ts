import type { Bench } from '../bench/setting.ts';
import type { Call } from './calls.ts';
import type { Act } from './clients.ts';
import { type Costs, type Cpu, type Part, parts, type Role, scaleCpu, sumCpu } from './costs.ts';
import { openLab, warmCalls } from './lab.ts';
import { type Population, simulate } from './model.ts';
import { callsIn, makePeople, makeWorlds, type Person, presenceCalls, type ServerPlan, syncCalls } from './world.ts';

/** A small installation that is run, to compare what it uses with the prediction. */
interface Size {
  name: string;
  processes: Record<Role, number>;
  sessions: number;
  /** The sessions are divided evenly among the servers of a class, so each session is in one server of each. */
  classes: { servers: number; channels: number; postsPerSec: number }[];
  /** Rates of the whole installation. */
  typings: number;
  reads: number;
  presences: number;
  restarts: number;
  resumes: number;
  watchers: number;
}

const sizes: Size[] = [
  {
    name: '50 sessions',
    processes: { api: 1, gateway: 1, worker: 1 },
    sessions: 50,
    classes: [{ servers: 5, channels: 2, postsPerSec: 10 }],
    typings: 4,
    reads: 8,
    presences: 1,
    restarts: 0.5,
    resumes: 1,
    watchers: 4,
  },
  {
    name: '200 sessions',
    processes: { api: 1, gateway: 2, worker: 1 },
    sessions: 200,
    classes: [
      { servers: 20, channels: 3, postsPerSec: 8 },
      { servers: 2, channels: 2, postsPerSec: 4 },
    ],
    typings: 4,
    reads: 10,
    presences: 2,
    restarts: 0.5,
    resumes: 1,
    watchers: 8,
  },
  {
    name: '500 sessions',
    processes: { api: 2, gateway: 2, worker: 2 },
    sessions: 500,
    classes: [
      { servers: 50, channels: 3, postsPerSec: 8 },
      { servers: 5, channels: 2, postsPerSec: 4 },
      { servers: 1, channels: 2, postsPerSec: 2 },
    ],
    typings: 4,
    reads: 12,
    presences: 2,
    restarts: 0.5,
    resumes: 1,
    watchers: 10,
  },
];

/** How far a prediction may be from what is measured, and the CPU time in a second from which a part can be measured, in milliseconds. */
export const tolerance = 0.3;
const measurableMs = 20;
const connectsPerSec = 50;
/** Before the measurement so many sessions restart and resume in a second, for so many seconds, so that the code of the gateway is compiled. */
const [warmSessionsPerSec, warmSessionsSec] = [40, 15];
const heartbeatMs = 10_000;
/** The warm-up and the measurement take this many times as long as one round of a bench. */
const [warmUpTimes, measureTimes] = [1, 4];

/** One comparison, in milliseconds of CPU time in a second. */
export interface Comparison {
  size: string;
  part: Part | 'all';
  predicted: number;
  measured: number;
  /** `predicted / measured - 1`. */
  error: number;
  /** False if the part used too little to compare. */
  isMeasurable: boolean;
}

/** Whether every comparison that is measurable is within the tolerance. */
export const isGood = (comparisons: readonly Comparison[]): boolean =>
  comparisons.every(({ error, isMeasurable }) => !isMeasurable || Math.abs(error) <= tolerance);

const chunksOf = <T>(items: readonly T[], count: number): T[][] =>
  Array.from({ length: count }, (_, at) => items.slice((at * items.length) / count, ((at + 1) * items.length) / count));

function compare(size: string, predicted: Cpu, measured: Cpu, hasDatabase: boolean): Comparison[] {
  const one = (part: Part | 'all', expected: number, found: number): Comparison => ({
    size,
    part,
    predicted: expected,
    measured: found,
    error: expected / found - 1,
    isMeasurable: found >= measurableMs,
  });
  const known = parts.filter((part) => part !== 'database' || hasDatabase);
  return [...known.map((part) => one(part, predicted[part], measured[part])), one('all', sumCpu(predicted), sumCpu(measured))];
}

async function checkSize(bench: Bench, size: Size, costs: Costs): Promise<Comparison[]> {
  const lab = await openLab(bench, size.processes);
  try {
    const { platform, stack } = lab.setting;
    const people = await makePeople(platform, size.sessions);
    const plansOf = ({ servers, channels }: Size['classes'][number]): ServerPlan[] =>
      chunksOf(people, servers).map((members) => ({ members, channels, hasMessages: true }));
    const worlds = await Promise.all(size.classes.map((one) => makeWorlds(platform, plansOf(one))));
    const first = worlds[0] ?? [];
    // Each account is watched by the next ones in a small server.
    const watches = first.flatMap(({ members }) =>
      members.map((_person, at) => Array.from({ length: size.watchers }, (_, n) => members[(at + n + 1) % members.length] as Person)),
    );
    const urls = lab.gatewayUrls();
    await lab.ask({ kind: 'heartbeat', ms: heartbeatMs });
    await lab.ask({
      kind: 'connect',
      group: 'all',
      urls,
      tokens: people.map(({ token }) => token),
      perSec: connectsPerSec,
      watches: watches.map((watched) => watched.map(({ id }) => id)),
    });
    const allPosts = size.classes.reduce((sum, { postsPerSec }) => sum + postsPerSec, 0);
    /** Calls go to all api processes in the same shares. */
    const acts = stack.apis.flatMap((_api, at): Act[] => {
      const api = stack.apiUrl(at);
      const act = (name: string, perSec: number, calls: Call[]): Act => ({
        kind: 'calls',
        name: `${name} ${at}`,
        perSec: perSec / stack.apis.length,
        calls,
        order: 'random',
      });
      // People type where they post, as the model assumes.
      const posts = size.classes.flatMap(({ postsPerSec }, n) => [
        act(`post ${n}`, postsPerSec, callsIn(api, 'post', worlds[n] ?? [])),
        act(`typing ${n}`, size.typings * (postsPerSec / allPosts), callsIn(api, 'typing', worlds[n] ?? [])),
      ]);
      return [
        ...posts,
        act('read', size.reads, callsIn(api, 'read', first)),
        act('mark', size.reads, callsIn(api, 'mark', first)),
        act('sync', size.restarts, syncCalls(api, people)),
        act('presence', size.presences, presenceCalls(api, people)),
      ];
    });
    const sessions: Act[] = [
      { kind: 'restart', name: 'restart', perSec: size.restarts, group: 'all', urls },
      { kind: 'resume', name: 'resume', perSec: size.resumes, group: 'all', urls },
    ];
    await lab.ask({ kind: 'warm', calls: acts.flatMap((act) => (act.kind === 'calls' ? [act.calls] : [])), count: warmCalls });
    await lab.act(
      sessions.map((act) => ({ ...act, perSec: warmSessionsPerSec })),
      warmSessionsSec,
    );
    await lab.act([...acts, ...sessions], warmUpTimes * bench.seconds);
    const { cpu, seconds, result } = await lab.sample(() => lab.act([...acts, ...sessions], measureTimes * bench.seconds));
    const rateOf = (name: string): number =>
      Object.entries(result.done).reduce(
        (sum, [act, count]) => (act === name || act.startsWith(`${name} `) ? sum + count / seconds : sum),
        0,
      );
    const population: Population = {
      connections: size.sessions,
      servers: size.classes.map(({ servers, channels }, n) => ({
        servers,
        online: size.sessions / servers,
        postsPerSec: rateOf(`post ${n}`) / servers,
        channels,
      })),
      viewers: 1,
      typingsPerSec: rateOf('typing'),
      readsPerSec: rateOf('read'),
      marksPerSec: rateOf('mark'),
      presencesPerSec: rateOf('presence'),
      watchers: size.watchers,
      connectsPerSec: rateOf('restart'),
      resumesPerSec: rateOf('resume'),
      missedPerResume: result.replayed / Math.max(1, result.done.resume ?? 0),
      heartbeatSec: heartbeatMs / 1000,
    };
    const layout = { ...size.processes, redisMasters: 1, databaseShards: 1, databaseCores: 1 };
    const predicted = simulate(layout, population, costs);
    bench.log(
      `  ${size.name}: ${(result.frames / seconds).toFixed(0)} events/s were sent, ${predicted.deliveriesPerSec.toFixed(0)} predicted`,
    );
    return compare(size.name, predicted.cpu, scaleCpu(cpu, costs.referenceMs / seconds), lab.hasDatabase && costs.hasDatabase);
  } finally {
    await lab.close();
  }
}

/** Runs real stacks of three small sizes, whose population differs from that of the measurement, and compares the CPU time of each part with the prediction. */
export async function checkModel(bench: Bench, costs: Costs): Promise<Comparison[]> {
  const found: Comparison[] = [];
  for (const size of sizes) found.push(...(await checkSize(bench, size, costs)));
  return found;
}
