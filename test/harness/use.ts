import { startTestApi, type TestApi } from './api.ts';
import { type Bot, makeApplication, makeBot, makeMember, makePerson, makeRole, makeServer, type Place } from './factories.ts';
import type { Caller } from './requests.ts';

/** An object whose contents come from `current`, so that tests can hold it before it exists. Throws if it is read before that. */
function later<T extends object>(current: () => T | undefined): T {
  const made = (): T => {
    const object = current();
    if (!object) throw new Error('this exists only while the tests run: do not read it in the body of a describe');
    return object;
  };
  return new Proxy({} as T, {
    get: (_, key) => {
      const value: unknown = Reflect.get(made(), key);
      return typeof value === 'function' ? (value.bind(made()) as unknown) : value; // `this` in a method is the object itself
    },
    set: (_, key, value) => Reflect.set(made(), key, value),
    has: (_, key) => key in made(),
    ownKeys: () => Reflect.ownKeys(made()),
    getOwnPropertyDescriptor: (_, key) => {
      const descriptor = Reflect.getOwnPropertyDescriptor(made(), key);
      return descriptor && { ...descriptor, configurable: true };
    },
  });
}

/** What `use` has started and not closed yet, oldest first: for which suite, and whether for one test. */
const running: { suite: unknown; each: boolean; close: () => Promise<void> }[] = [];

/**
 * Starts something before the tests of a `describe`, and closes it after them: what was started last is closed first. Returns it at once, but its contents can
 * be read only while the tests run. With `each` it is started for every test.
 */
export function use<T extends { close(): unknown }>(start: () => Promise<T>, { each = false } = {}): T {
  let started: T | undefined;
  const [first, last] = each ? [beforeEach, afterEach] : [before, after];
  first(async function () {
    started = await start();
    const close = async (): Promise<void> => {
      await started?.close();
      started = undefined;
    };
    running.push({ suite: this.test?.parent, each, close });
  });
  // Mocha runs these hooks in the order of the calls of `use`, so each one closes the newest of its suite.
  last(async function () {
    const suite = this.test?.parent;
    const newest = running.findLastIndex((one) => one.suite === suite && one.each === each);
    const [removed] = newest < 0 ? [] : running.splice(newest, 1);
    await removed?.close();
  });
  return later(() => started);
}

/** Makes an object before the tests of a `describe`, or with `each` before every test. Returns it at once, as `use` does. */
export function make<T extends object>(build: () => Promise<T>, { each = false } = {}): T {
  let made: T | undefined;
  (each ? beforeEach : before)(async () => {
    made = await build();
  });
  return later(() => made);
}

/** What a part of a server fixture is made from. */
export interface Given<A extends TestApi = TestApi> {
  api: A;
  owner: Caller;
  server: Place;
}
/** Makes one named part of a server fixture. */
export type Part<T extends object> = (given: Given) => Promise<T>;

/** A person in the server, with a role of their own that grants `permissions` if they are given. */
export const newMember =
  (permissions?: number): Part<Caller> =>
  ({ api, owner, server }) =>
    makeMember(api, owner, server.id, permissions);
/** A person outside of the server. */
export const newPerson = (): Part<Caller> => (given) => makePerson(given.api);
/** A bot in the server, with a role that grants `permissions`. */
export const newBot =
  (permissions = 0): Part<Bot & { roleId: string }> =>
  ({ api, owner, server }) =>
    makeBot(api, owner, server.id, permissions);
/** A bot of the owner that is not in the server. */
export const newApplication =
  (isPublic = false): Part<Bot> =>
  ({ api, owner }) =>
    makeApplication(api, owner, undefined, isPublic);
/** Another server of the owner. */
export const newServer = (): Part<Place> => (given) => makeServer(given.api, given.owner);
/** A role of the server. */
export const newRole =
  (input: Parameters<typeof makeRole>[3] = {}): Part<Awaited<ReturnType<typeof makeRole>>> =>
  ({ api, owner, server }) =>
    makeRole(api, owner, server.id, input);

type Made<P extends Record<string, Part<object>>> = { [K in keyof P]: Awaited<ReturnType<P[K]>> };

/**
 * Starts an API (or what `start` starts) with a person, `owner`, who owns `server`, and makes `parts` in their order. With `each`, the server and the parts are
 * made for every test, the API and the owner once. Returns all of them at once, as `use` does.
 */
export function useServer<P extends Record<string, Part<object>>, A extends TestApi = TestApi>(
  parts: P = {} as P,
  { each = false, start = startTestApi as () => Promise<A> }: { each?: boolean; start?: () => Promise<A> } = {},
): Given<A> & Made<P> {
  const api = use(start);
  const owner = make(() => makePerson(api));
  const server = make(() => makeServer(api, owner), { each });
  const made = Object.entries(parts).map(([name, part]) => [name, make(() => part({ api, owner, server }), { each })]);
  return { api, owner, server, ...(Object.fromEntries(made) as Made<P>) };
}
