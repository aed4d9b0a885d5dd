import { computePermissions, hasPermission, type Overwrite } from '../../../lib/base/permissions.ts';
import type { Caller } from './requests.ts';

/** A server as the requests that were answered have made it. */
export interface KnownServer {
  id: string;
  ownerId: string;
  /** The permissions of each role; the first one is `@everyone`, whose id is that of the server. */
  roles: Map<string, number>;
  /** The channels, and for threads their parents. */
  channels: Map<string, { overwrites: Map<string, Overwrite>; parentId: string | null }>;
  /** The roles of each member, and the own role of each bot. */
  members: Map<string, Set<string>>;
  botRoles: Map<string, string>;
  /** The changes under way, and when the last one ended, in milliseconds of the monotonic clock. */
  underWay: number;
  changedAtMs: number;
}

/** A post that was answered with 201. */
interface Post {
  id: string;
  server: KnownServer;
  channelId: string;
  beganAtMs: number;
  /** The accounts that must receive it: those that could view the channel from before the post until now. */
  due: Set<string>;
}

/** Whether an account may view a channel, by what was answered. */
export function mayView(server: KnownServer, accountId: string, channelId: string): boolean {
  const member = server.members.get(accountId);
  const channel = server.channels.get(channelId);
  const viewedAs = channel?.parentId ? server.channels.get(channel.parentId) : channel;
  if (!member || !viewedAs) return false;
  const roles = [...server.roles].map(([id, permissions]) => ({ id, permissions }));
  const rules = { _id: server.id, ownerId: server.ownerId, roles };
  const bits = computePermissions(rules, { userId: accountId, roles: [...member] }, [...viewedAs.overwrites.values()]);
  return hasPermission(bits, 'View Channel');
}

/** A client whose messages are judged. */
export interface Observer {
  readonly name: string;
  readonly caller: Caller;
  /** The ids of the messages that came in this session, in order. */
  readonly received: readonly string[];
  /** When the state of the session was loaded, in milliseconds of the monotonic clock; infinite before. */
  readonly loadedAtMs: number;
  /** What it has received and done last. */
  readonly trace: readonly string[];
}

/**
 * Judges what clients receive by the answers of requests alone. A post must reach who could view its channel from before the request until now. It must not
 * reach who could not view it at any of these moments, as far as no change is under way.
 */
export class Oracle {
  readonly faults: string[] = [];
  readonly threads = new Set<string>();
  readonly #posts = new Map<string, Post>();
  /** Posts whose answer did not come yet, by content. */
  readonly #startedAtMs = new Map<string, number>();
  readonly #report: (line: string) => void;
  /** Whether sessions may end with op 9: Redis has lost writes. */
  isLossy = false;

  constructor(report: (line: string) => void) {
    this.#report = report;
  }

  /** Records a fault, and for the first one of a client what it has received last. */
  fault({ name, caller, trace }: Pick<Observer, 'name' | 'caller' | 'trace'>, what: string): void {
    const line = `${name} (${caller.id}): ${what}`;
    if (!this.faults.some((one) => one.startsWith(name))) for (const one of trace) this.#report(`${name}: ${one}`);
    this.faults.push(line);
    this.#report(`FAULT ${line}`);
  }

  /** Whether the id is that of a thread. */
  isThread(id: string): boolean {
    return this.threads.has(id);
  }

  invalidated(client: Observer, reason: string): void {
    if (!this.isLossy) this.fault(client, `op 9: ${reason}`);
  }

  /** When the request of a post began, in milliseconds; 0 for a message of others. */
  beganAtMs({ id, content }: Record<string, unknown>): number {
    return this.#posts.get(String(id))?.beganAtMs ?? this.#startedAtMs.get(String(content)) ?? 0;
  }

  postBegan(content: string): void {
    this.#startedAtMs.set(content, performance.now());
  }

  /** A post was answered. `accountIds`: all accounts. */
  posted(server: KnownServer, channelId: string, content: string, id: string, accountIds: readonly string[]): void {
    const beganAtMs = this.#startedAtMs.get(content) ?? 0;
    this.#startedAtMs.delete(content);
    const isCertain = server.underWay === 0 && server.changedAtMs < beganAtMs;
    const due = new Set(isCertain ? accountIds.filter((one) => mayView(server, one, channelId)) : []);
    this.#posts.set(id, { id, server, channelId, beganAtMs, due });
  }

  /** A change of a server begins or has ended: from now on nobody who may not view a channel any more must receive its posts. */
  changeBegan(server: KnownServer): void {
    server.underWay++;
  }

  changeEnded(server: KnownServer): void {
    server.underWay--;
    server.changedAtMs = performance.now();
    for (const post of this.#posts.values()) {
      if (post.server !== server) continue;
      for (const one of post.due) if (server.underWay > 0 || !mayView(server, one, post.channelId)) post.due.delete(one);
    }
  }

  received(client: Observer, message: Record<string, unknown>): void {
    const post = this.#posts.get(String(message.id));
    if (!post) return;
    const { server, channelId, beganAtMs } = post;
    if (server.underWay === 0 && server.changedAtMs < beganAtMs && !mayView(server, client.caller.id, channelId))
      this.fault(client, `the message ${post.id} of the channel ${channelId}, which it may not view`);
  }

  /** Checks, when all stands still, that each client has what it must have. Then forgets the posts. */
  check(clients: readonly Observer[]): void {
    for (const client of clients) {
      const has = new Set(client.received);
      for (const { id, channelId, due, beganAtMs } of this.#posts.values())
        if (due.has(client.caller.id) && beganAtMs > client.loadedAtMs && !has.has(id))
          this.fault(client, `lacks the message ${id} of the channel ${channelId}`);
      const last = new Map<string, string>();
      for (const id of client.received) {
        const channelId = this.#posts.get(id)?.channelId;
        if (channelId === undefined) continue;
        if ((last.get(channelId) ?? '') > id) this.fault(client, `the message ${id} after ${last.get(channelId)}`);
        last.set(channelId, id);
      }
    }
    this.#posts.clear();
  }
}
