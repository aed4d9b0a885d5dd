import { computePermissions, hasPermission, type Overwrite } from '../../../lib/base/permissions.ts';

/** An account that sends requests. */
export interface Caller {
  id: string;
  token: string;
  /** The value of an Authorization header. */
  as: string;
}

/** Where the processes are. `pick` chooses one at random. */
export interface Addresses {
  api(): string;
  gateway(): string;
  pick(below: number): number;
}

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

/** A channel of a server. */
export interface Place {
  server: KnownServer;
  channelId: string;
}

/** A post that was answered with 201, or a copy of one from another place, whose id is not known at first. */
interface Post extends Place {
  beganAtMs: number;
  from?: Place;
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

/** A line of the report, and when what it tells happened, in milliseconds of the monotonic clock. */
export interface Line {
  text: string;
  atMs: number;
}

/** What a client should not have received or lacks, and the server that it is about, if it is one. */
export interface Wrong {
  name: string;
  what: string;
  serverId: string | null;
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
  readonly trace: readonly Line[];
}

/** Whether the id of a message comes from the clock of a process, which then had no Redis. No order is promised for it (docs/guarantees.md#p4-order). */
const isFromOwnClock = (id: string): boolean => ((BigInt(id) >> 12n) & 1_023n) !== 0n;

/**
 * Judges what clients receive by the answers of requests alone. A post must reach who could view its channel from before the request until now. It must not
 * reach who could not view it at any of these moments, as far as no change is under way.
 */
export class Oracle {
  readonly faults: Wrong[] = [];
  readonly threads = new Set<string>();
  readonly servers: KnownServer[] = [];
  readonly #posts = new Map<string, Post>();
  /** Copies of posts that no client has received yet, by content and channel. */
  readonly #copies = new Map<string, Post>();
  /** Posts whose answer did not come yet, and ephemeral answers, by content. */
  readonly #startedAtMs = new Map<string, number>();
  readonly #report: (text: string, atMs?: number) => void;
  /** Whether sessions may end with op 9: Redis has lost writes. */
  isLossy = false;

  constructor(report: (text: string, atMs?: number) => void) {
    this.#report = report;
  }

  /** Records a fault, and for the first one of a client what it has received last. */
  fault({ name, caller, trace }: Pick<Observer, 'name' | 'caller' | 'trace'>, what: string, serverId: string | null = null): void {
    if (!this.faults.some((one) => one.name === name)) for (const { text, atMs } of trace) this.#report(`${name}: ${text}`, atMs);
    this.faults.push({ name, what, serverId });
    this.#report(`FAULT ${name} (${caller.id}): ${what}`);
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

  /** The post with this content was answered, or its copy in a channel ordered. `accountIds`: all accounts. */
  #toPost(server: KnownServer, channelId: string, beganAtMs: number, accountIds: readonly string[]): Post {
    const isCertain = server.underWay === 0 && server.changedAtMs < beganAtMs;
    const due = new Set(isCertain ? accountIds.filter((one) => mayView(server, one, channelId)) : []);
    return { server, channelId, beganAtMs, due };
  }

  posted(server: KnownServer, channelId: string, content: string, id: string, accountIds: readonly string[]): void {
    const beganAtMs = this.#startedAtMs.get(content) ?? 0;
    this.#startedAtMs.delete(content);
    this.#posts.set(id, this.#toPost(server, channelId, beganAtMs, accountIds));
  }

  /** A post is to be copied from one place into another one. */
  copyBegan({ server, channelId }: Place, from: Place, content: string, accountIds: readonly string[]): void {
    this.#copies.set(`${content} ${channelId}`, { ...this.#toPost(server, channelId, performance.now(), accountIds), from });
  }

  copiesRefused(content: string): void {
    for (const key of this.#copies.keys()) if (key.startsWith(`${content} `)) this.#copies.delete(key);
  }

  /** A change of a server begins or has ended: from now on nobody who may not view a channel any more must receive its posts. */
  changeBegan(server: KnownServer): void {
    server.underWay++;
  }

  changeEnded(server: KnownServer): void {
    server.underWay--;
    server.changedAtMs = performance.now();
    for (const post of [...this.#posts.values(), ...this.#copies.values()]) {
      if (post.server !== server) continue;
      for (const one of post.due) if (server.underWay > 0 || !mayView(server, one, post.channelId)) post.due.delete(one);
    }
  }

  #requireView(client: Observer, { server, channelId, beganAtMs }: Omit<Post, 'due'>, what: string): void {
    if (server.underWay === 0 && server.changedAtMs < beganAtMs && !mayView(server, client.caller.id, channelId))
      this.fault(client, `${what} of the channel ${channelId}, which it may not view`, server.id);
  }

  received(client: Observer, message: Record<string, unknown>): void {
    const [id, content, channelId] = [message.id, message.content, message.channelId].map(String) as [string, string, string];
    const server = this.servers.find((one) => one.id === message.serverId);
    const beganAtMs = this.#startedAtMs.get(content);
    if (message.ephemeral && server && beganAtMs !== undefined)
      this.#requireView(client, { server, channelId, beganAtMs }, `the ephemeral answer ${id}`);
    const key = `${content} ${channelId}`;
    const copy = this.#copies.get(key);
    if (copy) this.#posts.set(id, copy);
    this.#copies.delete(key);
    const post = this.#posts.get(id);
    if (post) this.#requireView(client, post, `the message ${id}`);
  }

  /** The posts that each client must have and lacks. */
  findLacking(clients: readonly Observer[]): { client: Observer; id: string; post: Post }[] {
    return clients.flatMap((client) => {
      const has = new Set(client.received);
      const isLacking = (id: string, { due, beganAtMs }: Post): boolean =>
        due.has(client.caller.id) && beganAtMs > client.loadedAtMs && !has.has(id);
      return [...this.#posts].flatMap(([id, post]) => (isLacking(id, post) ? { client, id, post } : []));
    });
  }

  /** Checks, when all stands still, that each client has what it must have. Then forgets the posts. */
  check(clients: readonly Observer[]): void {
    for (const { client, id, post } of this.findLacking(clients))
      this.fault(client, `lacks the message ${id} of the channel ${post.channelId}`, post.server.id);
    for (const client of clients) {
      const last = new Map<string, string>();
      for (const id of client.received) {
        const post = this.#posts.get(id);
        if (!post || isFromOwnClock(id)) continue;
        const { server, channelId } = post;
        if ((last.get(channelId) ?? '') > id) this.fault(client, `the message ${id} after ${last.get(channelId)}`, server.id);
        last.set(channelId, id);
      }
    }
    const [anyone] = clients;
    for (const [key, { due, from }] of this.#copies)
      if (anyone && due.size > 0 && !this.isLossy && from?.server.channels.has(from.channelId))
        this.fault(anyone, `nobody has received the copy ${key}`, from.server.id);
    this.#posts.clear();
    this.#copies.clear();
  }
}
