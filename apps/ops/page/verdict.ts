/** The state of a figure: normal, worth a look, needs action now, or not known. */
export type State = 'fine' | 'look' | 'act' | 'unknown';

/** The verdict on a figure: its state, what is normal, and what to do. `advice` is empty if the state is fine or unknown. */
export interface Verdict {
  state: State;
  normal: string;
  advice: string;
}

/** A figure to judge. `value` is null if it is not known now. For shares and times, `of` is the number of events that it was computed from. */
export interface Figure {
  name: FigureName;
  value: number | null;
  of?: number;
}

interface Rule {
  normal: string;
  advice: string;
  /** The thresholds of the states `look` and `act`. Without a threshold a figure does not get that state. */
  look?: number;
  act?: number;
  /** Low values are bad: a threshold is reached when the value is below it. */
  falling?: true;
  /** With fewer events than this, the state is one step milder, because a few events can be chance. */
  enough?: number;
}

/** The queues whose jobs somebody waits for; the others may take their time. */
export const promptQueues: readonly string[] = ['relay', 'interactions', 'endpoints'];

/** A threshold that a single event reaches. */
const atAll = 1e-9;

/** The rule of every figure of the overview. Thresholds are numbers per second, seconds, shares from 0 to 1, or counts. */
export const rules = {
  messages: {
    normal: 'Up to 200 per second: the delivery times below are measured for that rate on two cores.',
    advice: 'This is above the measured rate. Watch the delivery time, and add workers, then API and gateway nodes.',
    look: 200,
  },
  'message-time': {
    normal: 'Under 250 ms from a message to bots’ sockets.',
    advice: 'Check the relay queue and the outbox. If both are short, the gateway nodes are busy: add one.',
    look: 0.25,
    act: 2,
  },
  nodes: {
    normal: 'At least one gateway node.',
    advice: 'No events are delivered. Start a gateway (npm run gateway), or check its log.',
    act: 1,
    falling: true,
  },
  'sockets-kept': {
    normal: 'No sudden drop. Clients of a node that stops reconnect to another within seconds.',
    advice: 'Half of the sockets of the last 5 minutes were closed. Check whether a gateway node or the proxy in front of it stopped.',
    look: 0.5,
    falling: true,
  },
  'sockets-strange': {
    normal: 'Few sockets that have not identified yet; each has 30 seconds.',
    advice:
      'Many sockets do not identify: a client with a bad token, or a flood. Check for close codes 4003 and 4004, and the proxy’s log.',
    look: 200,
  },
  'prompt-queue-age': {
    normal: 'Jobs start at once; the oldest waits less than a second.',
    advice: 'The workers cannot keep up, or none is running. Check the worker’s log and CPU, then add one (npm run worker).',
    look: 1,
    act: 3,
  },
  'queue-age': {
    normal: 'Jobs start within seconds, or within half a minute after a burst.',
    advice: 'The workers cannot keep up, or one kind of job keeps failing. Check Failed jobs, then add a worker.',
    look: 30,
    act: 300,
  },
  'queue-depth': {
    normal: 'A few; several hundred after a burst.',
    advice: 'Jobs arrive faster than they are done. Check the worker’s log and CPU, then add one (npm run worker).',
    look: 1_000,
    act: 10_000,
  },
  'outbox-age': {
    normal: 'Under 2 seconds. A sweep retries events that are older.',
    advice: 'Messages are stored and safe, but not delivered yet. Check that a worker is running and that Redis responds.',
    look: 4,
    act: 15,
  },
  'route-time': {
    normal: 'p95 under half a second. Uploads take as long as the sender’s connection needs.',
    advice: 'If one route is slow, check its log lines. If all are slow, check the database’s CPU and disk, then add an API node.',
    look: 0.5,
    act: 3,
    enough: 20,
  },
  'endpoint-time': {
    normal: 'Responses within 1.5 seconds. A command expires after 3 seconds.',
    advice:
      'The application’s own server is slow. Its owner sees each delivery in the developer portal. Other applications are not affected.',
    look: 1.5,
  },
  'endpoint-failures': {
    normal: 'Nearly every request gets a valid response.',
    advice: 'The application’s server is unreachable or sends invalid responses. Its owner sees each delivery in the developer portal.',
    look: 0.2,
  },
  'server-errors': {
    normal: 'None. A 503 while the database restarts counts too.',
    advice: 'Search the API’s log for “request failed”. The caller got the same request id.',
    look: atAll,
    act: 0.01,
    enough: 100,
  },
  'caller-errors': {
    normal: 'Under 20 %: invalid input, missing permissions, rate limits.',
    advice: 'A client keeps sending bad requests. The API’s log at level debug names the caller and the route.',
    look: 0.2,
    enough: 100,
  },
  'job-failures': {
    normal: 'None. A failed job is retried, and a sweep finds work that was given up.',
    advice: 'Search the worker’s log for “job failed” and the name of the job.',
    look: atAll,
    act: 0.05,
    enough: 100,
  },
  // The value is the share of the last two readings in which the store responded, so that one late response is not an outage: 0.5 is `look`, 0 is `act`.
  database: {
    normal: 'It answers.',
    advice: 'Check that MongoDB runs, that MONGODB_URL names it, and that its disk is not full.',
    look: 1,
    act: 0.5,
    falling: true,
  },
  redis: {
    normal: 'It answers.',
    advice: 'Check that Redis runs and that REDIS_URL names it. Posts still work; events come late.',
    look: 1,
    act: 0.5,
    falling: true,
  },
  'redis-memory': {
    normal: 'Under 70 % of its limit.',
    advice: 'Raise Redis’ maxmemory before it refuses writes, and check which queue has grown.',
    look: 0.7,
    act: 0.9,
  },
  'redis-keeps': {
    normal: 'Nothing is evicted and everything is persisted: maxmemory-policy noeviction and appendonly yes.',
    advice: 'Redis may lose jobs and sessions. Set maxmemory-policy noeviction and appendonly yes.',
    look: 1,
    falling: true,
  },
  'worker-beat': {
    normal: 'A worker sent a heartbeat within the last seconds.',
    advice: 'Start a worker (npm run worker), or check its log. Posts still work, but they are not delivered.',
    look: 5,
    act: 10,
  },
} satisfies Record<string, Rule>;

/** The name of a figure that has a rule. */
export type FigureName = keyof typeof rules;

const reached = (value: number, threshold: number | undefined, falling: true | undefined): boolean =>
  threshold !== undefined && (falling ? value < threshold : value >= threshold);

/** Judges `figure` by its rule. */
export function verdict({ name, value, of = Infinity }: Figure): Verdict {
  const { normal, advice, look, act, falling, enough = 0 }: Rule = rules[name];
  if (value === null || Number.isNaN(value)) return { state: 'unknown', normal, advice: '' };
  const [isAct, isLook] = [reached(value, act, falling), reached(value, look, falling)];
  const state = of >= enough ? (isAct ? 'act' : isLook ? 'look' : 'fine') : isAct ? 'look' : 'fine';
  return { state, normal, advice: state === 'fine' ? '' : advice };
}

const ranks: readonly State[] = ['fine', 'unknown', 'look', 'act'];

/** The worst of `states`; fine when there are none. */
export const worstOf = (states: readonly State[]): State => ranks[Math.max(0, ...states.map((state) => ranks.indexOf(state)))] ?? 'fine';
