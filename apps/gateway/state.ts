import type { Socket } from 'node:net';
import type { LRUCache } from 'lru-cache';
import { WebSocket } from 'ws';
import type { FairQueue } from '../../lib/base/fair-queue.ts';
import type { Metrics } from '../../lib/base/metrics.ts';
import type { Overwrite, ServerRules } from '../../lib/base/permissions.ts';
import type { EventName } from '../../lib/contract/events.ts';
import type { GatewayPlatform } from '../../lib/store/platform.ts';
import type { Entry } from '../../lib/store/redis/log/entry.ts';
import type { LogReader } from '../../lib/store/redis/log/reader.ts';
import type { Bucket, RateDecision } from '../../lib/store/redis/preflight.ts';

/** A client's socket. Times are milliseconds of the monotonic clock. One timer of the node checks all deadlines, so an idle socket needs no timer. */
export class GatewaySocket extends WebSocket {
  node!: GatewayNode;
  /** The TCP connection. The writer corks it for a turn of the event loop, so that all frames of a turn are sent in one write. */
  tcpSocket!: Socket;
  isCorked = false;
  /** `new`: the client may identify or resume. `identifyReceived`: it has sent identify or resume. */
  stage: 'new' | 'identifyReceived' | 'closing' = 'new';
  session: Session | null = null;
  /** When the node closes it: not identified (`new`, or session `connecting`), no heartbeat (`identifyReceived`), or close not answered (`closing`). */
  deadlineMs = 0;
  /** Frames received in the window that began at `windowStartMs`, and the value of `tcpSocket.bytesRead` at that time. */
  frameCount = 0;
  bytesAtWindowStart = 0;
  windowStartMs = 0;
  /** The client's address while it counts as unidentified, else null. */
  address: string | null = null;
  /** The session token from the cookie of the upgrade request; null without one, for another origin, and once the client has identified. */
  cookieToken: string | null = null;
}

/**
 * The state of a session on this node. `connecting`: its client has not been sent READY, or on a resume RESUMED. `replaying`: it reads the logs of its places
 * from its own position. `live`: it is sent what the lanes pass on, at the node's position. `closing`: the node has dropped it.
 */
export type SessionState = 'connecting' | 'replaying' | 'live' | 'closing';

/** A session on this node, of a bot or a person; it is kept in Redis and can be resumed on any node. */
export interface Session {
  readonly socket: GatewaySocket;
  readonly account: LocalAccount;
  readonly id: string;
  /** Identifies this socket among the sockets of all nodes. */
  readonly owner: string;
  readonly token: string;
  /** The events that it receives; null for all. */
  eventFilter: ReadonlySet<EventName> | null;
  state: SessionState;
  /** The places whose events it receives, each with the id of the join by which the session is in that server; '' for the account's own place. */
  readonly places: Map<Place, string>;
  /** Its position unless it is live: the number that its client has received in each partition, and in places that are behind that, such as new ones. */
  partitionNumbers: number[];
  placeNumbers: Map<Place, number>;
  /** What its handshake has read of its account's members, for the loads of rules in the same handshake; null after it. */
  readMembers: ReadMembers | null;
  /** The last `s` that was sent. */
  lastPosition: string;
  /** The accounts that it watches; null until its client has named some. */
  watchList: WatchList | null;
}

/** The accounts whose presence a session has asked for, including those that it may not see. */
export interface WatchList {
  readonly accounts: Set<string>;
  /** The accounts for which it is not known yet whether the session may see them. */
  readonly unchecked: Set<string>;
  isChecking: boolean;
  /** Whether the client has sent a list and awaits the answer. */
  isReplyPending: boolean;
}

/** An account whose presence sessions on this node watch. */
export interface WatchedAccount {
  /** The sessions that may see it, and whether each has received its presence. */
  readonly watchers: Map<Session, boolean>;
  /** The last published presence as Redis stores it; null for offline, undefined until it is known. */
  published: string | null | undefined;
  /** Resolves or rejects when the load of `published` has ended; null while none is running. */
  load: Promise<void> | null;
}

/** An account with sessions on this node. */
export interface LocalAccount {
  readonly id: string;
  readonly isBot: boolean;
  readonly sessions: Set<Session>;
}

/** The roles of a member, and the id of its join. */
export interface Membership {
  readonly userId: string;
  readonly roles: readonly string[];
  readonly joinId: string;
}

/** The members of one account that have no pending events, by server, and where the lanes were before these were read. */
export interface ReadMembers {
  readonly members: Map<string, Membership>;
  readonly lanes: readonly Pick<Lane, 'sentNumber' | 'interruptions'>[];
}

/** A channel: who may view it, and the payloads of its CHANNEL_CREATE and of those of its active threads, by thread id. */
export interface ChannelRules {
  overwrites: readonly Overwrite[];
  payload: Buffer;
  readonly threads: Map<string, Buffer>;
}

/** What decides who may view which channels of a server, as of the last entry that the node has passed on. */
export interface Rules {
  /** Replaced by a change, never changed itself. */
  server: ServerRules;
  readonly channels: Map<string, ChannelRules>;
  /** The membership of each account with sessions here, null if it is not a member. Accounts that are not loaded yet are missing. */
  readonly members: Map<string, Membership | null>;
}

/** A place (docs/delivery.md#terms) that has sessions on this node, or had some within the last 60 s. */
export interface Place {
  readonly name: string;
  readonly partition: number;
  /** The server's id; null for an account's place. */
  readonly serverId: string | null;
  readonly sessions: Set<Session>;
  /** The last entries of its log: all entries after the number `tailFrom`. */
  tail: Entry[];
  tailFrom: number;
  /** The number of the last entry that the node received; infinite until it is known. */
  lastNumber: number;
  /** Resolves when the node is subscribed to the place and the lane has passed on all entries published before that. */
  subscription: Promise<void>;
  /** The rules of the server; null until an entry needs them. The sessions whose accounts are not loaded, and the running load. */
  rules: Rules | null;
  readonly unknown: Set<Session>;
  load: Promise<void> | null;
  /** The sessions that receive a channel's events under `rules`, by channel id. */
  readonly recipients: Map<string, Recipients>;
}

/** The sessions on this node that receive a channel's events. For those in `undecided` it is not decided yet. */
export interface Recipients {
  readonly sessions: Set<Session>;
  readonly undecided: Set<Session>;
}

/** The presences that the node is subscribed to, and who receives them. */
export interface PresenceState {
  readonly watched: Map<string, WatchedAccount>;
  /** The sessions of bots that receive presences of their small servers. */
  readonly bots: Set<Session>;
  /** The reads of presences that await their answer from Redis, by id. */
  readonly pendingReads: Map<number, Waiter>;
  nextReadId: number;
  /** Counts the interruptions of each partition. */
  readonly interruptions: Map<number, number>;
  /** Concurrency limiter for checks of watch lists: a limited number runs at once, the others wait. */
  readonly runInCheckSlot: <T>(check: () => Promise<T>) => Promise<T>;
}

/** A caller that awaits a message. */
interface Waiter {
  resolve: (number: number) => void;
  reject: (error: Error) => void;
}

/** A partition's live entries, which it passes on to sessions in the order of their numbers, each at once. */
export interface Lane {
  readonly partition: number;
  /** `interrupted`: entries may have been missed, so new ones are held back until the state of the log has been read. */
  state: 'interrupted' | 'live';
  /** Counts interruptions. */
  interruptions: number;
  isRecovering: boolean;
  /** The number up to which the node has received entries and has sent them to live sessions. */
  sentNumber: number;
  epoch: number;
  floor: number;
  epochEnds: ReadonlyMap<number, number>;
  heldEntries: { name: string; entry: Entry }[];
  /** Places that missed an entry, each with the number of the last entry that was received before it. */
  readonly gaps: Map<Place, number>;
  /** Callbacks that are called when the lane is live. */
  onLive: (() => void)[];
  /** The waiters for marks, by mark id; and what sends a mark and waits for it, null before the first one. */
  readonly pendingMarks: Map<number, Waiter>;
  barrier: (() => Promise<number>) | null;
  /** The number up to which it is known that no entry was missed. */
  verifiedNumber: number;
  /** The places whose logs are to be read, each with the number to start after; and the running read. */
  readonly wantedTails: Map<Place, number>;
  tailRead: Promise<void> | null;
}

/** Writes to sockets. All that is written to a socket in one turn of the event loop is sent in one write, as sending costs per write, not per message. */
export interface Writer {
  write(socket: GatewaySocket, bytes: Buffer): void;
}

/** A session that this node has dropped and must release in Redis. */
export interface SessionRelease {
  id: string;
  accountId: string;
  owner: string;
  mode: 'end' | 'suspend';
}

/** The sockets of one address, or of one /64 of IPv6, that have not identified. */
export interface AddressUsage {
  /** How many are open now. */
  openCount: number;
  /** How many closed without having identified, in the window that began at `windowStartMs`. */
  failedCount: number;
  windowStartMs: number;
}

/** The state of a gateway node. */
export interface GatewayNode {
  readonly platform: GatewayPlatform;
  readonly metrics: Metrics;
  readonly eventLog: LogReader;
  readonly writer: Writer;
  /** Random; the node's lease has this id. */
  readonly id: string;
  readonly sockets: Set<GatewaySocket>;
  readonly sessions: Map<string, Session>;
  readonly accounts: Map<string, LocalAccount>;
  /** All places; and those without sessions, each with the time at which the last session left, the earliest first. */
  readonly places: Map<string, Place>;
  readonly unusedPlaces: Map<Place, number>;
  readonly presence: PresenceState;
  readonly lanes: readonly Lane[];
  readonly interrupt: (lane: Lane) => void; // to be called when an entry of the lane was missed
  /** The cached text of all lanes' `sentNumber`; null after one has changed. */
  positionText: string | null;
  /** The event filters of bots that were used last, by their sorted event names. Sessions with the same events share one filter. */
  readonly eventFilters: LRUCache<string, ReadonlySet<EventName>>;
  /** The unidentified sockets of each address; of IPv6 by /64. */
  readonly addresses: Map<string, AddressUsage>;
  /** Work that failed because Redis or the database did not answer. It is retried every second. */
  readonly pendingReleases: Map<string, SessionRelease>;
  readonly needsRecheck: Set<LocalAccount>;
  /** The queues of checks of tokens, by address, and of handshakes after that, by account and address. A limited number runs at once, the others wait. */
  readonly runTokenCheck: FairQueue;
  readonly runHandshake: FairQueue;
  /** The limiter of this node. */
  readonly decideLocally: (bucket: Bucket) => RateDecision;
  /** The next number for a session's `owner`, and for a mark. */
  nextOwnerNumber: number;
  nextMarkId: number;
  /** Whether it refuses new connections. It serves its clients until the last one is moved; only then `isClosing` ends its work. */
  isDraining: boolean;
  isClosing: boolean;
}

/** The monotonic clock, in milliseconds. */
export const monotonicMs = (): number => performance.now();
