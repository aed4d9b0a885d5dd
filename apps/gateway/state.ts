import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import type { Metrics } from '../../lib/base/metrics.ts';
import type { Overwrite } from '../../lib/base/permissions.ts';
import type { EventName } from '../../lib/contract/events.ts';
import type { ServerAccess } from '../../lib/domain/access.ts';
import type { Entry } from '../../lib/store/log/entry.ts';
import type { LogReader } from '../../lib/store/log/reader.ts';
import type { MemberDoc } from '../../lib/store/models/server.ts';
import type { GatewayPlatform } from '../../lib/store/platform.ts';

/** A client's socket. Times are milliseconds of the monotonic clock. One timer of the node watches all deadlines: an idle socket holds no timer. */
export class GatewaySocket extends WebSocket {
  node!: GatewayNode;
  /** The connection under the frames; it is corked for a turn of the event loop, so that a turn's events leave in one write. */
  raw!: Socket;
  corked = false;
  /** `new`: it may identify or resume. `entered`: it did, or is about to. */
  stage: 'new' | 'entered' | 'closing' = 'new';
  session: Session | null = null;
  /** When it is closed unless identified (new, or its session connecting), without a heartbeat (entered) or gone (closing). */
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

/**
 * The state of a session on this node. `connecting`: its client has not been sent READY, and on a resume not RESUMED. `replaying`: it reads the logs of its places
 * from its own position. `live`: it gets what the node receives, at the node's position. `closing`: the node has given it up.
 */
export type SessionState = 'connecting' | 'replaying' | 'live' | 'closing';

/** A session on this node, of a bot or a person; it is kept in Redis and can be resumed on any node. */
export interface Session {
  readonly socket: GatewaySocket;
  readonly account: LocalAccount;
  readonly id: string;
  /** Names this socket among all sockets of all nodes. */
  readonly owner: string;
  readonly token: string;
  /** The events that it gets; null for all. */
  events: ReadonlySet<EventName> | null;
  state: SessionState;
  /** The places whose events it receives. */
  readonly places: Set<Place>;
  /** Unless it is live: what its client was given, by partition, and in places that it joined late. */
  numbers: number[];
  late: Map<Place, number>;
  /** The last `s` that was sent. */
  s: string;
  /** The accounts that it watches; null until its client has named some. */
  watch: WatchList | null;
}

/** The accounts whose presence a session has asked for, also those that it may not see. */
export interface WatchList {
  readonly accounts: Set<string>;
  /** Those of which it is yet to be found out whether the session may see them. */
  readonly unchecked: Set<string>;
  isChecking: boolean;
  /** Whether the client waits for an answer. */
  isAsked: boolean;
}

/** An account whose presence sessions on this node watch. */
export interface WatchedAccount {
  /** The sessions that may see it, and whether each has received its presence. */
  readonly watchers: Map<Session, boolean>;
  /** The last published presence as it is kept in Redis, null for offline; undefined until it is known. */
  kept: string | null | undefined;
  /** Settles when it is known. */
  loading: Promise<void> | null;
}

/** An account with sessions on this node. */
export interface LocalAccount {
  readonly id: string;
  readonly bot: boolean;
  readonly sessions: Set<Session>;
}

/** What is known of a server's access data under one version. Overwrites of a channel that are not in the map are not known yet. */
export interface Rules {
  readonly version: string;
  /** Until when they are used. */
  readonly until: number;
  /** null when the server is gone. */
  readonly access: ServerAccess | null;
  readonly channels: Map<string, readonly Overwrite[] | null>;
}

/** What entries of a place need, to be loaded in one go under the newest version of theirs. */
export interface Load {
  version: string;
  readonly channelIds: Set<string>;
  done: Promise<void>;
}

/** A place with sessions on this node, or that had some a while ago. */
export interface Place {
  readonly name: string;
  readonly k: number;
  /** The server, of a server's place. */
  readonly serverId: string | null;
  readonly sessions: Set<Session>;
  /** The last entries of its log, complete from those after `from` on. */
  tail: Entry[];
  tailFrom: number;
  /** The number of the last entry that was received; infinite until it is known. */
  lastNumber: number;
  /** Resolves when the node is subscribed to the place and the lane has passed all that came before. */
  subscribed: Promise<void>;
  /** What is known of the server's access data; null until an entry needs it. */
  rules: Rules | null;
  /** The members among the accounts with sessions here; null for who is none. The others are yet to be loaded, and being loaded now. */
  readonly members: Map<string, MemberDoc | null>;
  readonly unknownMembers: Set<string>;
  loadingMembers: Set<string>;
  /** Settles with the last load of `rules` that was asked for; and the one that has not begun. */
  loading: Promise<void>;
  nextLoad: Load | null;
  /** The sessions that receive a channel, under `rules` and `members`; those that came since are yet to be judged. */
  readonly recipients: Map<string, Recipients>;
}

/** The sessions on this node that receive a channel's events. */
export interface Recipients {
  readonly sessions: Set<Session>;
  readonly unjudged: Set<Session>;
}

/** What the node knows of presences. */
export interface PresenceState {
  readonly watched: Map<string, WatchedAccount>;
  /** The sessions of bots that receive presences of their small servers. */
  readonly bots: Set<Session>;
  /** Who waits for presences from Redis. */
  readonly reads: Map<number, Waiter>;
  nextRead: number;
  /** Counts the interruptions of each partition. */
  readonly generations: Map<number, number>;
  /** Lets so many watch lists be checked at once; the others wait. */
  readonly inCheckSlot: <T>(check: () => Promise<T>) => Promise<T>;
}

/** What waits in a lane: an entry, until what decides about it is there or `isLate`, or a control message, which is applied in its turn. */
export type LaneItem = { entry: Entry; place: Place; isLoading: boolean; isLate: boolean } | { entry: null; apply: () => void };

/** Somebody who waits for a message; `arrived` says that it has come, and takes effect in its turn. */
interface Waiter {
  resolve: (n: number) => void;
  reject: (error: Error) => void;
  arrived?: () => void;
}

/** The way of a partition's live entries to the sessions, strictly in order of their numbers. */
export interface Lane {
  readonly k: number;
  /** `held`: something was missed; until the state of the log has been read, what comes is held back. */
  state: 'held' | 'live';
  /** Counts interruptions. */
  generation: number;
  isRecovering: boolean;
  /** Up to which number live sessions were sent entries, and up to which the node has received them. */
  seen: number;
  known: number;
  epoch: number;
  floor: number;
  ends: ReadonlyMap<number, number>;
  items: LaneItem[];
  held: { name: string; entry: Entry }[];
  /** Places of which an entry was missed while others were received, each with the last number that was received of it before. */
  readonly gaps: Map<Place, number>;
  /** Called when the lane is live. */
  waiting: (() => void)[];
  /** Who waits for which mark, and the barrier under way and the next one, which those share who come meanwhile. */
  readonly marks: Map<number, Waiter>;
  barrier: Promise<number> | null;
  nextBarrier: Promise<number> | null;
  /** Up to which number it is known that nothing was missed. */
  checked: number;
  /** From where places' logs are wanted, and the reading under way. */
  readonly wanted: Map<Place, number>;
  reading: Promise<void> | null;
}

/** The node's way out: what is written in one turn of the event loop leaves each socket in one write, as a send costs by write, not by message. */
export interface Writer {
  write(socket: GatewaySocket, bytes: Buffer): void;
}

/** A session to be given up in Redis as soon as Redis answers. */
export interface SessionRelease {
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
  readonly log: LogReader;
  readonly writer: Writer;
  /** Random; names the node's lease. */
  readonly id: string;
  /** False under the failpoint `no-replay`: the negative control of the fault tests. */
  readonly replays: boolean;
  readonly sockets: Set<GatewaySocket>;
  readonly sessions: Map<string, Session>;
  readonly accounts: Map<string, LocalAccount>;
  /** The places; and those without sessions, each with when the last one left it, the longest left first. */
  readonly places: Map<string, Place>;
  readonly leftPlaces: Map<Place, number>;
  readonly presence: PresenceState;
  readonly lanes: readonly Lane[];
  readonly interrupt: (lane: Lane) => void; // something of a partition was missed
  /** The numbers of all lanes as text; null when one has moved on. */
  numbers: string | null;
  /** The unidentified sockets of each address; of IPv6 by /64. */
  readonly addresses: Map<string, AddressUsage>;
  /** What Redis or the database could not be asked; each is tried again every second. */
  readonly pendingReleases: Map<string, SessionRelease>;
  readonly needsRecheck: Set<LocalAccount>;
  /** Lets so many clients in at once; the others wait. */
  readonly inHandshakeSlot: <T>(enter: () => Promise<T>) => Promise<T>;
  /** Numbers of sockets, for owners, and of marks. */
  nextOwner: number;
  nextMark: number;
  closing: boolean;
}

/** The monotonic clock, in milliseconds. */
export const monotonic = (): number => performance.now();
