/** A value that the current code runs with, also after `await`. */
export interface Context<T> {
  get(): T | undefined;
  run<R>(value: T, work: () => R): R;
}

/** The parts of Node's own modules that the kit uses. */
interface Builtins {
  'node:async_hooks': { AsyncLocalStorage: new () => { getStore(): unknown; run<R>(value: unknown, work: () => R): R } };
  'node:events': { setMaxListeners(count: number, target: object): void };
  'node:fs': { openAsBlob(path: string): Promise<Blob> };
}

/**
 * A module of Node; undefined in browsers. It is not imported, because bundlers for browsers would look for it.
 */
export function findBuiltin<N extends keyof Builtins>(name: N): Builtins[N] | undefined {
  const { process: node } = globalThis as { process?: { getBuiltinModule?(id: string): unknown } };
  return node?.getBuiltinModule?.(name) as Builtins[N] | undefined;
}

/** Returns a signal that many requests wait for at the same time. Node would warn of more than 10 listeners. */
export function shareSignal(signal: AbortSignal): AbortSignal {
  findBuiltin('node:events')?.setMaxListeners(0, signal);
  return signal;
}

/** Creates a context. In browsers it never has a value. */
export function createContext<T>(): Context<T> {
  const hooks = findBuiltin('node:async_hooks');
  if (!hooks) return { get: () => undefined, run: (_, work) => work() };
  const storage = new hooks.AsyncLocalStorage();
  return { get: () => storage.getStore() as T | undefined, run: (value, work) => storage.run(value, work) };
}
