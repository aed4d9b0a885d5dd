/** A listener of an event. What it returns is awaited before the event counts as handled. */
export type Listener<T> = (data: T) => unknown;

/** A list of listeners for each event of `Events`, a type with the data of each event by name. */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>();

  /** Adds a listener. */
  on<N extends keyof Events>(name: N, listener: Listener<Events[N]>): this {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return this;
  }

  /** Adds a listener that is removed before its first call. */
  once<N extends keyof Events>(name: N, listener: Listener<Events[N]>): this {
    const first: Listener<Events[N]> = (data) => {
      this.off(name, first);
      return listener(data);
    };
    return this.on(name, first);
  }

  /** Removes a listener that was added with `on`. */
  off<N extends keyof Events>(name: N, listener: Listener<Events[N]>): this {
    this.#listeners.get(name)?.delete(listener);
    return this;
  }

  /** How many listeners an event has. */
  listenerCount(name: keyof Events): number {
    return this.#listeners.get(name)?.size ?? 0;
  }

  /** Calls the listeners of an event and waits until all of them have ended. Then rejects if one has failed. */
  protected async emit<N extends keyof Events>(name: N, data: Events[N]): Promise<void> {
    const listeners = [...(this.#listeners.get(name) ?? [])] as Listener<Events[N]>[];
    await settleAll(listeners.map(async (listener) => listener(data)));
  }
}

/** Waits until all of `works` have ended. Then rejects with the error if one has failed, or with an `AggregateError` of several. */
export async function settleAll(works: readonly Promise<unknown>[]): Promise<void> {
  const errors = (await Promise.allSettled(works)).flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  if (errors.length > 1) throw new AggregateError(errors, `${errors.length} listeners failed: ${errors.map(String).join('; ')}`);
  if (errors.length > 0) throw errors[0];
}
