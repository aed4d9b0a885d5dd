import { WebSocket } from 'ws';
import type { Server } from '../../../lib/contract/server.ts';
import { call } from '../requests.ts';
import { applyEvent, type Copy, type ReceivedEvent, toComparable, toCopy } from './copy.ts';
import type { Addresses, Caller, Line, Observer, Oracle } from './oracle.ts';

/** All events that a bot can ask for and that change a copy. */
const events = [
  'MESSAGE_UPDATE MESSAGE_DELETE REACTION_ADD REACTION_REMOVE PINS_UPDATE CHANNEL_CREATE CHANNEL_UPDATE CHANNEL_DELETE',
  'MEMBER_ADD MEMBER_UPDATE MEMBER_REMOVE ROLE_CREATE ROLE_UPDATE ROLE_DELETE SERVER_CREATE SERVER_UPDATE SERVER_DELETE',
]
  .join(' ')
  .split(' ');

/** What a client had received at a position. */
interface Snapshot {
  s: string;
  copy: Copy;
  /** How many messages it had received in the session. */
  count: number;
}

/** How many earlier positions a client remembers, and how many lines of what it has received. */
const maxSnapshots = 20;
const maxTrace = 80;

interface Frame {
  op: number;
  t?: string;
  s?: string;
  d: Record<string, unknown>;
}

/**
 * A client that keeps a copy of its servers by the documents alone: it loads the state after READY, then applies events. It loses its connection, resumes at its
 * last position or an earlier one on any node, is taken over by another socket, and reads slowly.
 */
export class OrderClient implements Observer {
  readonly name: string;
  readonly caller: Caller;
  readonly #addresses: Addresses;
  readonly #oracle: Oracle;
  copy: Copy = new Map();
  /** The ids of the messages that came in this session, in order. */
  received: string[] = [];
  /** When the state of the session was loaded, in milliseconds of the monotonic clock; infinite before. */
  loadedAtMs = Number.POSITIVE_INFINITY;
  lastFrameAtMs = 0;
  /** What it has received and done last. */
  readonly trace: Line[] = [];
  resumes = 0;
  invalidated = 0;
  #socket: WebSocket | null = null;
  #sessionId: string | null = null;
  #position: string | null = null;
  #snapshots: Snapshot[] = [];
  /** Events that came while the state was being loaded; null at any other time. */
  #queued: ReceivedEvent[] | null = null;
  #loads = 0;
  /** When the state of each server was read, in milliseconds; and the servers of READY that were gone then, until that is told. */
  readonly #stateAtMs = new Map<string, number>();
  #goneServers = new Set<string>();
  #isClosed = false;
  isReady = false;

  constructor(name: string, caller: Caller, addresses: Addresses, oracle: Oracle) {
    this.name = name;
    this.caller = caller;
    this.#addresses = addresses;
    this.#oracle = oracle;
    this.#open();
  }

  #open(): void {
    if (this.#isClosed) return;
    this.isReady = false;
    const socket = new WebSocket(this.#addresses.gateway(), { perMessageDeflate: false, handshakeTimeout: 3_000 });
    this.#socket = socket;
    let heartbeat: NodeJS.Timeout | undefined;
    const send = (op: number, d: unknown): void => {
      if (socket.readyState === socket.OPEN) socket.send(JSON.stringify({ op, d }));
    };
    socket.on('message', (data: Buffer) => {
      if (this.#socket !== socket) return; // another socket has taken over
      const frame = JSON.parse(data.toString()) as Frame;
      this.lastFrameAtMs = frame.op === 0 ? performance.now() : this.lastFrameAtMs;
      if (frame.op === 10) {
        heartbeat = setInterval(() => send(1, this.#position), Number(frame.d.heartbeatIntervalMs) * 0.8);
        this.#note(this.#sessionId ? `resumes at ${this.#position}` : 'identifies');
        if (this.#sessionId) send(6, { token: this.caller.token, sessionId: this.#sessionId, seq: this.#position });
        else send(2, { token: this.caller.token, events });
      } else if (frame.op === 9) {
        this.invalidated++;
        this.#oracle.invalidated(this, String(frame.d.reason));
        this.#forget();
        socket.close(4000);
      } else if (frame.op === 7) socket.terminate();
      else if (frame.op === 0) this.#receive(frame);
    });
    socket.on('error', () => undefined);
    socket.on('close', (code, reason) => {
      clearInterval(heartbeat);
      if (this.#socket !== socket) return;
      if ([4001, 4002, 4005, 4006, 4007].includes(code))
        this.#oracle.fault(this, `closed with ${code} ${reason.toString()} at ${this.#position}`);
      if (code === 4007) this.#forget();
      setTimeout(() => this.#open(), 20 + this.#addresses.pick(150));
    });
  }

  #forget(): void {
    this.#sessionId = null;
    this.#position = null;
    this.#snapshots = [];
    this.loadedAtMs = Number.POSITIVE_INFINITY;
  }

  #note(text: string): void {
    this.trace.push({ text, atMs: performance.now() });
    if (this.trace.length > maxTrace) this.trace.shift();
  }

  #receive({ t = '', s = '', d }: Frame): void {
    this.#position = s;
    const { content, serverId, channelId, id, roleId } = d;
    this.#note(`${t} ${s} ${JSON.stringify({ content, serverId, channelId, id, roleId })}`);
    if (t === 'RESUMED') {
      this.resumes++;
      this.isReady = true;
      return;
    }
    if (t === 'READY') {
      this.#sessionId = String(d.sessionId);
      this.received = [];
      this.#snapshots = [];
      this.#queued = [];
      void this.#load(d.servers as string[]);
      return;
    }
    if (t === 'INTERACTION_CREATE') return void this.#answer(String(d.id), String(d.token));
    if (this.#queued) this.#queued.push({ t, d });
    else this.#apply({ t, d });
    if (!this.#queued && this.#addresses.pick(6) === 0) {
      this.#snapshots.push({ s, copy: structuredClone(this.copy), count: this.received.length });
      if (this.#snapshots.length > maxSnapshots) this.#snapshots.shift();
    }
  }

  /** Answers a command, for the person only. */
  async #answer(id: string, token: string): Promise<void> {
    const content = `answer ${id}`;
    this.#oracle.postBegan(content);
    const url = `${this.#addresses.api()}/api/interactions/${id}/${token}/callback`;
    await call('POST', url, null, { type: 'message', content, ephemeral: true });
  }

  /** Whether an event that does not fit the copy is older than the state that was read: the state already had a later change, whose event follows. */
  #isOlderThanState({ t, d }: ReceivedEvent): boolean {
    const serverId = String(d.serverId);
    const stateAtMs = this.#stateAtMs.get(serverId);
    if (stateAtMs === undefined || !this.copy.has(serverId)) return this.#goneServers.has(serverId);
    return t.startsWith('MESSAGE_') && this.#oracle.beganAtMs(d) < stateAtMs;
  }

  #apply(event: ReceivedEvent): void {
    const { t, d } = event;
    if (d.kind === 'thread') this.#oracle.threads.add(String(d.id));
    if (t === 'SERVER_CREATE') this.#stateAtMs.set(String(d.id), performance.now());
    if (t === 'SERVER_CREATE' || t === 'SERVER_DELETE') this.#goneServers.delete(String(d.id));
    const problem = applyEvent(this.copy, this.caller.id, event, (id) => this.#oracle.isThread(id));
    if (problem && !this.#isOlderThanState(event)) this.#oracle.fault(this, problem, String(d.serverId ?? d.id));
    if (event.t !== 'MESSAGE_CREATE' || !event.d.serverId) return;
    const id = String(event.d.id);
    if (this.received.includes(id)) this.#oracle.fault(this, `the message ${id} twice`, String(d.serverId));
    this.received.push(id);
    this.#oracle.received(this, event.d);
  }

  /** Loads the state of a new session. Events that come meanwhile are applied after it. */
  async #load(serverIds: readonly string[]): Promise<void> {
    const load = ++this.#loads;
    const loadedAtMs = performance.now();
    const copy: Copy = new Map();
    for (const id of serverIds)
      for (let status = 0; status !== 200 && status !== 404 && status !== 403; ) {
        const answer = await call<Server>('GET', `${this.#addresses.api()}/api/servers/${id}`, this.caller.as);
        ({ status } = answer);
        if (load !== this.#loads || this.#isClosed) return;
        this.#stateAtMs.set(id, performance.now());
        if (status === 200) copy.set(id, toCopy(answer.body));
        else if (status !== 404) await new Promise((resolve) => setTimeout(resolve, 100));
      }
    this.copy = copy;
    this.#goneServers = new Set(serverIds.filter((id) => !copy.has(id)));
    const queued = this.#queued ?? [];
    this.#queued = null;
    for (const event of queued) this.#apply(event);
    this.loadedAtMs = loadedAtMs;
    this.isReady = true;
  }

  /** Does something to the connection: cuts it, closes it, takes it over, goes back to an earlier position, or reads slowly for a while. */
  disturb(): void {
    const socket = this.#socket;
    const pick = this.#addresses.pick(6);
    if (!socket || !this.isReady) return;
    if (pick === 0) socket.terminate();
    else if (pick === 1) socket.close(4000);
    else if (pick === 2) {
      this.#open(); // the new socket resumes while the old one is open
      setTimeout(() => socket.terminate(), 1_000);
    } else if (pick === 3) {
      socket.pause();
      setTimeout(() => socket.resume(), this.#addresses.pick(1_500));
    } else {
      const snapshot = this.#snapshots[this.#addresses.pick(this.#snapshots.length || 1)];
      if (!snapshot) return;
      socket.removeAllListeners('message');
      socket.terminate();
      this.#snapshots = this.#snapshots.slice(0, this.#snapshots.indexOf(snapshot) + 1);
      this.copy = structuredClone(snapshot.copy);
      this.received = this.received.slice(0, snapshot.count);
      this.#position = snapshot.s;
    }
  }

  /** Compares the copy with what the API returns now; returns the differences. */
  async compare(): Promise<[what: string, serverId: string | null][]> {
    const answer = await call<{ id: string }[]>('GET', `${this.#addresses.api()}/api/servers`, this.caller.as);
    if (answer.status !== 200) return [[`GET /api/servers: ${answer.status}`, null]];
    const ids = answer.body.map(({ id }) => id);
    const problems: [string, string][] = [];
    const has = [...this.copy.keys()];
    for (const id of ids.filter((one) => !this.copy.has(one))) problems.push([`lacks the server ${id}`, id]);
    for (const id of has.filter((one) => !ids.includes(one))) problems.push([`has the server ${id}, which it is not in`, id]);
    for (const id of ids) {
      const own = this.copy.get(id);
      const server = await call<Server>('GET', `${this.#addresses.api()}/api/servers/${id}`, this.caller.as);
      if (!own || server.status !== 200) continue;
      const [mine, real] = [toComparable(own), toComparable(toCopy(server.body))].map((one) => JSON.stringify(one));
      if (mine !== real) problems.push([`server ${id}: has ${mine}, GET has ${real}`, id]);
    }
    return problems;
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.terminate();
  }
}
