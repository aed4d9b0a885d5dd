/** One received event. */
export interface Dispatch {
  name: string;
  data: unknown;
  /** The session that it belongs to, and the position after it. */
  sessionId: string;
  position: string;
}

interface Entry extends Dispatch {
  isRunning: boolean;
  /** The last of the handled events that follow it without a gap, or itself. */
  end: Dispatch;
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
  /** The events that are not handled yet, oldest first. */
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
    const entry: Entry = { ...event, isRunning: false, end: event };
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
    const next = this.#entries.find(({ isRunning }) => !isRunning);
    if (!next) return;
    this.#running++;
    void this.#run(next).then(() => {
      this.#running--;
      this.#startNext();
    });
    this.#startNext();
  }

  async #run(entry: Entry): Promise<void> {
    entry.isRunning = true;
    await this.#options.handle(entry);
    const at = this.#entries.indexOf(entry);
    this.#entries.splice(at, 1);
    const before = this.#entries[at - 1];
    if (before) before.end = entry.end;
    else this.#options.onHandled(entry.end);
    for (const waiter of this.#waiters)
      if (this.#entries.length <= waiter.size) {
        this.#waiters.delete(waiter);
        waiter.resolve();
      }
  }
}
