/** The parts of an installation whose load is computed. `database` is all processes of the database together. */
export const parts = ['api', 'gateway', 'worker', 'redis', 'database'] as const;
export type Part = (typeof parts)[number];
/** The parts that are processes of Parlance. */
export const roles = ['api', 'gateway', 'worker'] as const;
export type Role = (typeof roles)[number];

/** CPU time in each part, in milliseconds. */
export type Cpu = Record<Part, number>;

const [request, stored]: [Part[], Part[]] = [
  ['api', 'redis', 'database'],
  ['api', 'worker', 'redis', 'database'],
];
const session: Part[] = ['gateway', 'worker', 'redis', 'database'];

/** What costs CPU time each time that it happens, and the parts that it costs time in. What is measured in other parts at that moment is chance. */
export const actions = {
  postQuiet: { about: 'a post in a channel that no worker stays with', parts: stored },
  postBusy: { about: 'a post in a channel that a worker stays with', parts: stored },
  typing: { about: 'a call of the typing route', parts: stored },
  read: { about: 'reading 50 messages of a channel', parts: request },
  mark: { about: 'moving a read mark', parts: stored },
  uncached: { about: '… a call of which the api process has cached nothing', parts: request },
  presence: { about: 'a change of an own status', parts: stored },
  sync: { about: 'loading the state when a session begins', parts: request },
  connect: { about: 'a session that begins and ends', parts: session },
  connectPlace: { about: '… each of its servers', parts: session },
  openPlace: { about: '… a server without another session on the node', parts: session },
  resume: { about: 'a session that resumes on another node', parts: session },
  resumePlace: { about: '… each of its servers', parts: session },
  replay: { about: '… an event that is sent again', parts: ['gateway', 'redis'] },
  heartbeat: { about: 'a heartbeat', parts: ['gateway', 'redis'] },
  sessionSecond: { about: 'an open session, each second', parts: ['gateway'] },
  entry: { about: 'an event that a node receives and sends', parts: ['gateway', 'redis'] },
  unsentEntry: { about: 'an event that a node receives and sends to nobody', parts: ['gateway', 'redis'] },
  delivery: { about: 'an event that is sent to a session', parts: ['gateway'] },
} as const satisfies Record<string, { about: string; parts: readonly Part[] }>;
export type Action = keyof typeof actions;

/** What the operations of Parlance cost on one machine. `measureCosts` measures it, and `simulate` computes with it. */
export interface Costs {
  /** False if the CPU time of the database could not be measured. Its values are then 0 and mean nothing. */
  hasDatabase: boolean;
  /** CPU time of the fixed computation that the other times were compared with, in milliseconds (`watchSpeed`): how fast the machine is. */
  referenceMs: number;
  /** CPU time that one process of a role uses in each part in each second without load, in milliseconds. */
  idle: Record<Role, Cpu>;
  /** CPU time of one occurrence, in milliseconds. */
  actions: Record<Action, Cpu>;
  /** Memory in bytes. */
  memory: {
    /** A process of a role without load. */
    process: Record<Role, number>;
    /** On a gateway node: a session, each server of a session, and a server that the node has sessions of. */
    session: number;
    sessionPlace: number;
    place: number;
    /** In Redis: a session, an entry of a log, and the mark of an event. */
    redisSession: number;
    redisEntry: number;
    redisMark: number;
  };
  /** Sizes in bytes: a dispatch to a session with its WebSocket header, the same in the database without indexes, and an acknowledgment of a heartbeat. */
  bytes: { frame: number; storedMessage: number; heartbeat: number };
}

/** No CPU time in any part. */
export const noCpu = (): Cpu => ({ api: 0, gateway: 0, worker: 0, redis: 0, database: 0 });

/** Applies `compute` to each part. */
export const mapParts = (compute: (part: Part) => number): Cpu => {
  const result = noCpu();
  for (const part of parts) result[part] = compute(part);
  return result;
};

/** `one + factor · other` in each part. */
export const addCpu = (one: Cpu, other: Cpu, factor = 1): Cpu => mapParts((part) => one[part] + factor * other[part]);

/** `cpu` multiplied by `factor`. */
export const scaleCpu = (cpu: Cpu, factor: number): Cpu => addCpu(noCpu(), cpu, factor);

/** The CPU time of all parts together. */
export const sumCpu = (cpu: Cpu): number => parts.reduce((sum, part) => sum + cpu[part], 0);
