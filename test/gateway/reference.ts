import { expect } from 'chai';
import type { Overwrite } from '../../lib/base/permissions.ts';

/** The bit of View Channel. */
export const view = 1;

/** A server of the model. It has one role, `roleId`. */
export interface ModelServer {
  id: string;
  roleId: string;
  /** Whether @everyone may view channels, and whether the role may. */
  everyoneViews: boolean;
  roleViews: boolean;
  /** Its members, and whether they have the role. */
  members: Map<string, { hasRole: boolean }>;
}

/** A channel of the model. */
export interface ModelChannel {
  id: string;
  server: ModelServer;
  overwrites: Map<string, Overwrite>;
}

/** Whether an account may view a channel, by the roles of the server, then the overwrites of @everyone, of the role, and of the account. */
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
 * Whether a session receives a post. `may`: the access rules changed after the post was appended and before the session was known to have received it, so both
 * outcomes are correct.
 */
type Due = 'must' | 'may' | 'never';

/** The posts that a session of an account must receive. */
export interface Expectation {
  /** A post was appended. */
  posted(post: ModelPost): void;
  /** The rules or the account's membership changed. */
  changed(): void;
  /** The session's client disconnected; what it misses is checked when it resumes. */
  disconnected(): void;
  resumed(): void;
  /** The session has ended; the client fetches what it missed. */
  invalidated(): void;
  /** A session began. */
  began(): void;
  received(n: number): void;
  /** Checks the posts received since the last call. A session with a connected client must have received everything by now. */
  check(who: string): void;
}

interface Pending {
  post: ModelPost;
  due: Due;
  /** The membership at the time of the post: an account that left and joined again does not receive earlier posts. */
  membership: unknown;
  /** The session was live and must not receive the post. A resume from an earlier position delivers it if it may be viewed by then. */
  isPassed: boolean;
}

/** Makes an expectation without posts and without a session. */
export function createExpectation(accountId: string): Expectation {
  const pending = new Map<number, Pending>();
  let receivedPosts: number[] = [];
  let receivedBefore = new Set<number>();
  let state: 'none' | 'disconnected' | 'connected' = 'none';
  const membershipIn = ({ server }: ModelChannel): unknown => server.members.get(accountId);
  const dueNow = ({ channel }: ModelPost): Due => (mayView(accountId, channel) ? 'must' : 'never');
  return {
    posted(post) {
      pending.set(post.n, { post, due: state === 'none' ? 'may' : dueNow(post), membership: membershipIn(post.channel), isPassed: false });
    },
    changed() {
      if (state !== 'connected') return;
      for (const one of pending.values()) if (!one.isPassed && dueNow(one.post) !== one.due) one.due = 'may';
    },
    disconnected() {
      state = 'disconnected';
      receivedBefore = new Set(receivedPosts);
      for (const one of pending.values()) if (one.due === 'never') one.isPassed = true;
    },
    resumed() {
      state = 'connected';
      for (const one of pending.values())
        if (one.due !== 'may' && !receivedBefore.has(one.post.n)) {
          const due = one.membership === membershipIn(one.post.channel) ? dueNow(one.post) : 'never';
          one.due = one.isPassed && due === 'must' ? 'may' : due;
        }
    },
    invalidated() {
      state = 'none';
      for (const one of pending.values()) one.due = 'may';
    },
    began() {
      state = 'connected';
    },
    received: (n) => void receivedPosts.push(n),
    check(who) {
      const last = new Map<ModelServer, number>();
      for (const n of receivedPosts) {
        const one = pending.get(n);
        expect(one?.due ?? 'checked before', `${who} received ${n}`).to.be.oneOf(['must', 'may']);
        const server = one?.post.channel.server as ModelServer;
        expect(n, `${who}: in order, and once`).to.be.greaterThan(last.get(server) ?? -1);
        last.set(server, n);
      }
      if (state !== 'connected') return;
      const missing = [...pending.values()].filter(({ post, due }) => due === 'must' && !receivedPosts.includes(post.n));
      expect(
        missing.map(({ post }) => post.n),
        `${who} lacks`,
      ).to.deep.equal([]);
      for (const n of receivedPosts) pending.delete(n);
      for (const one of pending.values()) Object.assign(one, { due: 'never', isPassed: true });
      receivedPosts = [];
    },
  };
}
