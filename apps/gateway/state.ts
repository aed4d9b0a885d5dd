import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import type { Metrics } from '../../lib/base/metrics.ts';
import type { Topics } from '../../lib/store/bus/topics.ts';
import type { GatewayPlatform } from '../../lib/store/platform.ts';

/** A client's socket. Times are milliseconds of the monotonic clock. One timer of the node watches all deadlines: an idle socket holds no timer. */
export class GatewaySocket extends WebSocket {
  node!: GatewayNode;
  /** The connection under the frames; it is corked for a turn of the event loop, so that a turn's events leave in one write. */
  raw!: Socket;
  corked = false;
  /** `entering`: an identify or resume is under way. */
  stage: 'new' | 'entering' | 'live' | 'closing' = 'new';
  session: Session | null = null;
  /** When it is closed unless identified (new, entering), heard from (live) or gone (closing). */
  deadline = 0;
  /** Frames received in the window that began at `windowAt`, and the value of `raw.bytesRead` at that time. */
  frames = 0;
  bytesBefore = 0;
  windowAt = 0;
  /** The client's address while it counts as unidentified, else null. */
  address: string | null = null;
  /** The session token of the cookie that came with the upgrade from an origin of ours. */
  cookie: string | null = null;
}

/** A session on this node: of a bot, kept in Redis and resumable anywhere, or of a person, known here only. */
export interface Session {
  readonly socket: GatewaySocket;
  readonly account: LocalAccount;
  readonly id: string;
  /** Names this socket among all sockets of all nodes. */
  readonly owner: string;
  readonly token: string;
  /** The number of the last event that was sent, or withheld from who may no longer see it. */
  last: number;
  /** The highest number known to be in the stream. */
  target: number;
  /** Its events come from the stream now, not from the subscription; also until it is ready. */
  busy: boolean;
  /** READY or RESUMED was sent. */
  ready: boolean;
  /** False from when the node gave it up. */
  open: boolean;
}

/** An account with sessions on this node, and the topics heard for it. */
export interface LocalAccount {
  readonly id: string;
  readonly bot: boolean;
  readonly sessions: Set<Session>;
  servers: Set<string>;
  /** Settles when its own topic is heard. */
  heard: Promise<void>;
  /** The reading of its servers that is under way, and whether another was asked for meanwhile. */
  refreshing: Promise<void> | null;
  again: boolean;
}

/** The node's way out: what is written in one turn of the event loop leaves each socket in one write, as a send costs by write, not by message. */
export interface Outlet {
  write(socket: GatewaySocket, bytes: Buffer): void;
}

/** A session to be given up in Redis as soon as Redis answers. */
export interface Departure {
  id: string;
  accountId: string;
  owner: string;
  how: 'end' | 'wait';
}

/** The sockets of one address, or of one /64 of IPv6, that have not identified. */
export interface AddressUsage {
  /** How many are open now. */
  open: number;
  /** How many closed without having identified, in the window that began at `windowAt`. */
  failed: number;
  windowAt: number;
}

/** All that a gateway node holds. */
export interface GatewayNode {
  readonly platform: GatewayPlatform;
  readonly metrics: Metrics;
  readonly topics: Topics;
  readonly outlet: Outlet;
  /** Random; names the node's lease. */
  readonly id: string;
  /** False under the failpoint `no-replay`: the negative control of the fault tests. */
  readonly replays: boolean;
  readonly sockets: Set<GatewaySocket>;
  /** Ready sessions and new ones by session id. */
  readonly sessions: Map<string, Session>;
  readonly accounts: Map<string, LocalAccount>;
  /** The people of each server that have sessions here. */
  readonly people: Map<string, Set<LocalAccount>>;
  /** The unidentified sockets of each address; of IPv6 by /64. */
  readonly addresses: Map<string, AddressUsage>;
  /** What Redis or the database could not be asked; each is tried again every second. */
  readonly owed: Map<string, Departure>;
  readonly behind: Set<Session>;
  readonly unsure: Set<LocalAccount>;
  /** Runs at most so many page reads at once, so that a thousand resumes hold few pages in memory. */
  readonly reading: <T>(read: () => Promise<T>) => Promise<T>;
  /** Socket number, for owners. */
  nextOwner: number;
  closing: boolean;
}

/** The monotonic clock, in milliseconds. */
export const monotonic = (): number => performance.now();
