/** How a figure stands: as it should, worth a look, in need of somebody now, or not known. */
export type State = 'fine' | 'look' | 'act' | 'unknown';

/** What is said of a figure: how it stands, what is normal, and what to do; the advice is empty while it is fine. */
export interface Verdict {
  state: State;
  normal: string;
  advice: string;
}

/** A figure that is judged. `value` null: it cannot be known now. `of`: how many events it was taken from, for shares and times. */
export interface Figure {
  name: FigureName;
  value: number | null;
  of?: number;
}

interface Rule {
  normal: string;
  advice: string;
  /** From which value on it is worth a look, or needs somebody. Absent: that never is. */
  look?: number;
  act?: number;
  /** Small values are the bad ones. */
  falling?: true;
  /** Of fewer events than these it is judged one step milder: one of three may be chance. */
  enough?: number;
}

/** The queues whose jobs somebody waits for; the others may take their time. */
export const promptQueues: readonly string[] = ['drain', 'interactions', 'endpoints'];

/** The least share: one event is enough. */
const atAll = 1e-9;

/** Every figure of the overview with its thresholds: numbers a second, seconds, shares of 1, counts. */
export const rules = {
  messages: {
    normal: 'Any number up to 200 a second: what the times below are promised for on two cores.',
    advice: 'More than this was measured for. Watch the time to sockets, and add workers, then API and gateway nodes.',
    look: 200,
  },
  'message-time': {
    normal: 'Under a quarter of a second from a message to the sockets of bots.',
    advice: 'Look at the queue drain and at the outbox. If both are short, the gateway nodes are busy: add one.',
    look: 0.25,
    act: 2,
  },
  nodes: {
    normal: 'At least one gateway node.',
    advice: 'Nobody hears anything. Start a gateway (npm run gateway), or look at its log.',
    act: 1,
    falling: true,
  },
  'sockets-kept': {
    normal: 'No sudden fall. Clients of a node that ends come back on another within seconds.',
    advice: 'Half of the sockets of the last 5 minutes are gone. Did a node end, or the proxy in front? Look at the gateways’ logs.',
    look: 0.5,
    falling: true,
  },
  'sockets-strange': {
    normal: 'Nearly none that have not said who they are; they have 30 seconds.',
    advice:
      'Many sockets do not log in: a client with a bad token, or a flood. Look for close codes 4003 and 4004, and at the proxy’s log.',
    look: 200,
  },
  'prompt-queue-age': {
    normal: 'Taken at once; the oldest waits less than a second.',
    advice: 'Workers do not keep up, or none runs. Look at the worker’s log and CPU, then add one (npm run worker).',
    look: 1,
    act: 3,
  },
  'queue-age': {
    normal: 'Taken within seconds; half a minute after a burst.',
    advice: 'Workers do not keep up, or one kind of job fails again and again. Look at Jobs that failed, then add a worker.',
    look: 30,
    act: 300,
  },
  'queue-depth': {
    normal: 'A few; some hundreds after a burst.',
    advice: 'More comes than is done. Look at the worker’s log and CPU, then add one (npm run worker).',
    look: 1_000,
    act: 10_000,
  },
  'outbox-age': {
    normal: 'Under 2 seconds; a sweep finds what was forgotten after 2.',
    advice: 'Messages are stored and safe, but nobody hears of them yet. Check that a worker runs and that Redis answers.',
    look: 4,
    act: 15,
  },
  'route-time': {
    normal: '95 of 100 requests within half a second. Uploads take as long as the sender’s line.',
    advice: 'If one route is slow, look for its log lines; if all are, look at CPU and disk of the database, then add an API node.',
    look: 0.5,
    act: 3,
    enough: 20,
  },
  'endpoint-time': {
    normal: 'Replies within a second and a half; after 3 seconds the use of a command has expired.',
    advice: 'It is the application’s own server: its owner sees each delivery in the developer portal. No other application is held up.',
    look: 1.5,
  },
  'endpoint-failures': {
    normal: 'Nearly every request gets a good reply.',
    advice: 'The application’s server is away or answers wrongly; its owner sees each delivery in the developer portal.',
    look: 0.2,
  },
  'server-errors': {
    normal: 'None. A 503 while the database restarts is ours too.',
    advice: 'Look in the API’s log for “request failed”; its request id is the one that the caller was told.',
    look: atAll,
    act: 0.01,
    enough: 100,
  },
  'caller-errors': {
    normal: 'Under a fifth: wrong input, rights that somebody does not have, a used-up rate.',
    advice: 'A client does something wrong again and again. The API’s log at level debug names the caller and the route.',
    look: 0.2,
    enough: 100,
  },
  'job-failures': {
    normal: 'None. A job that fails is tried again, and a sweep finds what was given up.',
    advice: 'Look in the worker’s log for “job failed” and the name of the job.',
    look: atAll,
    act: 0.05,
    enough: 100,
  },
  // Of the last two readings: one that came too late is no outage.
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
    normal: 'Under 70 % of what it may use.',
    advice: 'Raise Redis’ maxmemory before it refuses writes; see which queue has grown.',
    look: 0.7,
    act: 0.9,
  },
  'redis-keeps': {
    normal: 'It keeps everything: maxmemory-policy noeviction and appendonly yes.',
    advice: 'Redis may lose jobs and sessions: set maxmemory-policy noeviction and appendonly yes.',
    look: 1,
    falling: true,
  },
  'worker-beat': {
    normal: 'A worker said within the last seconds that it lives.',
    advice: 'Start a worker (npm run worker), or look at its log. Posts still work; nobody hears of them.',
    look: 5,
    act: 10,
  },
} satisfies Record<string, Rule>;

/** The name of a figure that has a rule. */
export type FigureName = keyof typeof rules;

const reached = (value: number, threshold: number | undefined, falling: true | undefined): boolean =>
  threshold !== undefined && (falling ? value < threshold : value >= threshold);

/** How `figure` stands by its rule. */
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
