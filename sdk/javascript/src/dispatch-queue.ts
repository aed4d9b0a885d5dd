/** One received event. */
export interface Dispatch {
  name: string;
  data: unknown;
  /** The session that it belongs to, and the position after it. */
  sessionId: string;
  position: string;
}

interface Entry extends Dispatch {
  state: 'waiting' | 'running' | 'done';
}

/** Settings of the queue. */
export interface QueueOptions {
  /** Handles one event. It must not reject. */
  handle: (event: Dispatch) => Promise<void>;
  /** Whether an event starts at once, however many are running. */
  isUrgent: (event: Dispatch) => boolean;
  /** How many events are handled at the same time. */
  concurrency: number;
  /** How many events may be in the queue, running ones included. */
  capacity: number;
  /** Called with the last event up to which all are handled. */
  onHandled: (event: Dispatch) => void;
}

/** Handles events: starts them in their order, some at a time, and knows up to which position all of them are handled. */
export class DispatchQueue {
  readonly #options: QueueOptions;
  /** The events that are not handled yet, or that came after one that is not, oldest first. */
  readonly #entries: Entry[] = [];
  #running = 0;
  readonly #waiters = new Set<{ size: number; resolve: () => void }>();

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Whether no more events may be added now. */
  get isFull(): boolean {
    return this.#entries.length >= this.#options.capacity;
  }

  /** Adds an event. */
  add(event: Dispatch): void {
    const entry: Entry = { ...event, state: 'waiting' };
    this.#entries.push(entry);
    if (this.#options.isUrgent(entry)) void this.#run(entry);
    else this.#startNext();
  }

  /** Resolves when at most `size` events are in the queue. */
  async shrinksTo(size: number): Promise<void> {
    if (this.#entries.length > size) await new Promise<void>((resolve) => this.#waiters.add({ size, resolve }));
  }

  #startNext(): void {
    if (this.#running >= this.#options.concurrency) return;
    const next = this.#entries.find(({ state }) => state === 'waiting');
    if (!next) return;
    this.#running++;
    void this.#run(next).then(() => {
      this.#running--;
      this.#startNext();
    });
    this.#startNext();
  }

  async #run(entry: Entry): Promise<void> {
    entry.state = 'running';
    await this.#options.handle(entry);
    entry.state = 'done';
    let last: Dispatch | undefined;
    while (this.#entries[0]?.state === 'done') last = this.#entries.shift();
    if (last) this.#options.onHandled(last);
    for (const waiter of this.#waiters)
      if (this.#entries.length <= waiter.size) {
        this.#waiters.delete(waiter);
        waiter.resolve();
      }
  }
}
