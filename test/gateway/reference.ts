import { expect } from 'chai';
import type { Overwrite } from '../../lib/base/permissions.ts';

/** View Channel. */
export const view = 1;

/** A server of the model. Its one role is `roleId`. */
export interface ModelServer {
  id: string;
  roleId: string;
  /** Whether @everyone, and the role, may view channels. */
  everyoneViews: boolean;
  roleViews: boolean;
  /** Who is in it, and whether they have the role. */
  members: Map<string, { hasRole: boolean }>;
}

/** A channel of the model. */
export interface ModelChannel {
  id: string;
  server: ModelServer;
  overwrites: Map<string, Overwrite>;
}

/** Whether an account may view a channel: roles of the server, then the overwrites of @everyone, of the role, and of the account. */
export function mayView(accountId: string, { server, overwrites }: ModelChannel): boolean {
  const member = server.members.get(accountId);
  if (!member) return false;
  let may = server.everyoneViews || (member.hasRole && server.roleViews);
  for (const id of [server.id, ...(member.hasRole ? [server.roleId] : []), accountId]) {
    const overwrite = overwrites.get(id);
    if (overwrite?.deny) may = false;
    if (overwrite?.allow) may = true;
  }
  return may;
}

/** A post: its number, which is its content, and its channel. */
export interface ModelPost {
  n: number;
  channel: ModelChannel;
}

/**
 * Whether a session gets a post. `may`: what decides about it changed after it was appended and before the session was known to have been given it, so that either
 * is right.
 */
type Due = 'must' | 'may' | 'never';

/** What a session of an account must be given. */
export interface Expectation {
  /** A post was appended. */
  posted(post: ModelPost): void;
  /** The rules, or the account's membership, changed. */
  changed(): void;
  /** The session's client is gone: what it misses is judged when it resumes. */
  left(): void;
  resumed(): void;
  /** There is no session: what was missed is fetched. */
  invalidated(): void;
  /** A session began. */
  began(): void;
  given(n: number): void;
  /** Checks what was given since the last call. A session with a client must have been given everything by now. */
  check(who: string): void;
}

interface Pending {
  post: ModelPost;
  due: Due;
  /** The membership under which it was posted: who left and joined again is not given what came before. */
  membership: unknown;
  /** The session was live and was not to be given it. A resume from before it gives it when it may be seen by then. */
  isPassed: boolean;
}

/** Nothing is expected yet, and there is no session. */
export function createExpectation(accountId: string): Expectation {
  const pending = new Map<number, Pending>();
  let given: number[] = [];
  let givenBefore = new Set<number>();
  let state: 'none' | 'away' | 'here' = 'none';
  const membershipIn = ({ server }: ModelChannel): unknown => server.members.get(accountId);
  const dueNow = ({ channel }: ModelPost): Due => (mayView(accountId, channel) ? 'must' : 'never');
  return {
    posted(post) {
      pending.set(post.n, { post, due: state === 'none' ? 'may' : dueNow(post), membership: membershipIn(post.channel), isPassed: false });
    },
    changed() {
      if (state !== 'here') return;
      for (const one of pending.values()) if (!one.isPassed && dueNow(one.post) !== one.due) one.due = 'may';
    },
    left() {
      state = 'away';
      givenBefore = new Set(given);
      for (const one of pending.values()) if (one.due === 'never') one.isPassed = true;
    },
    resumed() {
      state = 'here';
      for (const one of pending.values())
        if (one.due !== 'may' && !givenBefore.has(one.post.n)) {
          const due = one.membership === membershipIn(one.post.channel) ? dueNow(one.post) : 'never';
          one.due = one.isPassed && due === 'must' ? 'may' : due;
        }
    },
    invalidated() {
      state = 'none';
      for (const one of pending.values()) one.due = 'may';
    },
    began() {
      state = 'here';
    },
    given: (n) => void given.push(n),
    check(who) {
      const last = new Map<ModelServer, number>();
      for (const n of given) {
        const one = pending.get(n);
        expect(one?.due ?? 'settled before', `${who} was given ${n}`).to.be.oneOf(['must', 'may']);
        const server = one?.post.channel.server as ModelServer;
        expect(n, `${who}: in order, and once`).to.be.greaterThan(last.get(server) ?? -1);
        last.set(server, n);
      }
      if (state !== 'here') return;
      const missing = [...pending.values()].filter(({ post, due }) => due === 'must' && !given.includes(post.n));
      expect(
        missing.map(({ post }) => post.n),
        `${who} lacks`,
      ).to.deep.equal([]);
      for (const n of given) pending.delete(n);
      for (const one of pending.values()) Object.assign(one, { due: 'never', isPassed: true });
      given = [];
    },
  };
}
