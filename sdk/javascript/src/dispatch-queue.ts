import { createContext } from './platform.ts';

/** One received event. */
export interface Dispatch {
  name: string;
  data: unknown;
  /** The session that it belongs to, and the position after it. */
  sessionId: string;
  position: string;
  /** Whether it stands for the use of a prefix command. The message itself is an event of its own. */
  isPrefixCommand?: boolean;
}

interface Entry {
  event: Dispatch;
  lane: Lane;
  /** The last of the handled events that follow it without a gap, or itself. */
  end: Dispatch;
  isOver: boolean;
}

/** The unfinished events of one channel, or all unfinished commands. */
interface Lane {
  name: string;
  waiting: Entry[];
  running: number;
  hasDropped: boolean;
}

/** Settings of the queue. */
export interface QueueOptions {
  /** Handles one event. `lane` names what waits for it, such as `events of channel 1`. It must not reject. */
  handle: (event: Dispatch, lane: string) => Promise<void>;
  /** How many events of one channel are handled at the same time. Commands have no such limit. */
  concurrency: number;
  /** How many unfinished events of one channel the queue keeps. */
  laneSize: number;
  /** Called with the last event up to which all are handled. */
  onHandled: (event: Dispatch) => void;
  /** Called with what has no room for more, such as `events of channel 1`; once until half of it is free. */
  onDrop: (lane: string) => void;
}

/** How many channels can be full at the same time. */
const fullLanes = 4;
const commandLane = 'commands';

/** What events are kept in order by: their channel, otherwise their server. Prefix commands do not wait for events, and other commands start at once. */
function laneOf({ name, data, isPrefixCommand }: Dispatch): string {
  if (name === 'INTERACTION_CREATE') return commandLane;
  const { channelId, serverId, id } = data as { channelId?: string; serverId?: string; id?: string };
  if (isPrefixCommand) return `prefix commands in channel ${channelId ?? ''}`;
  const channel = name.startsWith('CHANNEL_') ? id : channelId;
  if (channel !== undefined) return `events of channel ${channel}`;
  const server = serverId ?? (name.startsWith('SERVER_') ? id : undefined);
  return server === undefined ? 'events without a server' : `events of server ${server}`;
}

/**
 * Handles events: those of one channel one after another, those of different channels at the same time, and commands at once, however many other events wait.
 * The prefix commands of a channel are handled one after another, beside its events. Knows up to which position all of them are handled.
 */
export class DispatchQueue {
  readonly #options: QueueOptions;
  /** The events that are not handled yet, oldest first. */
  readonly #entries: Entry[] = [];
  readonly #lanes = new Map<string, Lane>();
  /** How many events have not started. Commands start at once. */
  #waiting = 0;
  readonly #waiters = new Set<() => void>();
  #isClosed = false;
  /** The entry whose handler the current code runs in, where the runtime can tell. */
  readonly #current = createContext<Entry>();

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Adds an event, or drops it or another one if the queue is full. */
  add(event: Dispatch): void {
    const name = laneOf(event);
    const lane = this.#lanes.get(name) ?? { name, waiting: [], running: 0, hasDropped: false };
    if (!this.#makeRoom(lane)) return;
    this.#lanes.set(name, lane);
    const entry: Entry = { event, lane, end: event, isOver: false };
    this.#entries.push(entry);
    lane.waiting.push(entry);
    this.#waiting++;
    this.#startNext(lane);
  }

  /** Resolves when all events are handled. If a handler waits for it, its own event counts as handled. */
  async isEmpty(): Promise<void> {
    const caller = this.#current.get();
    if (caller) this.#finish(caller);
    if (this.#entries.length > 0) await new Promise<void>((resolve) => this.#waiters.add(resolve));
  }

  /** Starts nothing more. Events whose handlers have not ended do not count as handled, even if these end later. */
  close(): void {
    this.#isClosed = true;
    for (const lane of this.#lanes.values()) lane.waiting.length = 0;
    this.#wake();
  }

  /**
   * Whether one more event of this lane fits. If too many events of all channels wait, the newest one of the channel with the most is dropped for it. An event
   * that can start at once always fits.
   */
  #makeRoom(lane: Lane): boolean {
    const { laneSize, concurrency } = this.#options;
    const size = lane.waiting.length + lane.running;
    if (size >= (lane.name === commandLane ? laneSize * fullLanes : laneSize)) {
      this.#reportDrop(lane);
      return false;
    }
    if (lane.name === commandLane || lane.running < concurrency || this.#waiting < laneSize * fullLanes) return true;
    const longest = [...this.#lanes.values()].reduce((most, one) => (one.waiting.length > most.waiting.length ? one : most), lane);
    this.#reportDrop(longest);
    const dropped = longest === lane ? undefined : longest.waiting.pop();
    if (!dropped) return false;
    this.#waiting--;
    this.#remove(dropped);
    return true;
  }

  #reportDrop(lane: Lane): void {
    if (lane.hasDropped) return;
    lane.hasDropped = true;
    this.#options.onDrop(lane.name);
  }

  #startNext(lane: Lane): void {
    const limit = lane.name === commandLane ? Number.POSITIVE_INFINITY : this.#options.concurrency;
    while (lane.running < limit) {
      const entry = lane.waiting.shift();
      if (!entry) break;
      lane.running++;
      this.#waiting--;
      void this.#current.run(entry, () => this.#options.handle(entry.event, lane.name)).then(() => this.#finish(entry));
    }
    if (lane.running === 0) this.#lanes.delete(lane.name);
  }

  #finish(entry: Entry): void {
    if (entry.isOver || this.#isClosed) return;
    const { lane } = entry;
    lane.running--;
    const { laneSize } = this.#options;
    if (lane.waiting.length + lane.running <= laneSize / 2 && this.#waiting <= (laneSize * fullLanes) / 2) lane.hasDropped = false;
    this.#remove(entry);
    this.#startNext(lane);
  }

  #remove(entry: Entry): void {
    entry.isOver = true;
    const at = this.#entries.indexOf(entry);
    if (at < 0) return;
    this.#entries.splice(at, 1);
    const before = this.#entries[at - 1];
    if (before) before.end = entry.end;
    else this.#options.onHandled(entry.end);
    if (this.#entries.length === 0) this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }
}
