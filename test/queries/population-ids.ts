import type { Document } from './shape.ts';

/** An id as the product makes them: 18 digits, in the order of the kinds below and of `n`. */
export const idOf = (kind: number, n: number): string => `1${String(kind).padStart(5, '0')}${String(n).padStart(12, '0')}`;
/** The id of account `n`; bots come first. */
export const userId = (n: number): string => idOf(1, n);
/** The id of server `n`. */
export const serverId = (n: number): string => idOf(2, n);
/** The id of channel `n`. */
export const channelId = (n: number): string => idOf(3, n);
/** The id of thread `n`. */
export const threadId = (n: number): string => idOf(4, n);
/** The id of message `n`. */
export const messageId = (n: number): string => idOf(5, n);
/** The id of application `n`. */
export const applicationId = (n: number): string => idOf(6, n);
/** The id of anything else. */
export const otherId = (n: number): string => idOf(7, n);
const startMs = Date.UTC(2026, 0, 1);
/** A time, a second later for each `n`. */
export const at = (n: number): Date => new Date(startMs + n * 1_000);
/** A hash. */
export const hash = (n: number): string => n.toString(16).padStart(32, '0');
/** `fields` in one of `rarity` documents, as an index of pending work has them. */
export const oneIn = (rarity: number, n: number, fields: Document): Document => (n % rarity === 7 ? fields : {});
/** A pending event in one of `rarity` documents. */
export const outbox = (n: number, rarity: number): Document =>
  oneIn(rarity, n, { outbox: [{ id: otherId(n), name: 'MESSAGE_CREATE' }], outboxAt: at(n) });

/** How many accounts there are. */
export const accounts = 6_000;
/** How many of them are bots. */
export const bots = 300;
/** How many servers there are. */
export const servers = 300;
/** How many channels there are, without threads. */
export const channels = 2_500;
/** Channel 0 has half of the messages, server 0 most members and 500 channels. */
export const channelOfMessage = (n: number): number => (n % 2 === 0 ? 0 : 1 + (n % 499));
/** The server of channel `n`. Server 0 has 500. */
export const serverOfChannel = (n: number): number => (n < 500 ? 0 : 1 + (n % (servers - 1)));
/** Whether account `n` is a bot. */
export const isBot = (n: number): boolean => n < bots;

/** How many documents a collection has, and its document `n`. */
export type Population = [count: number, build: (n: number) => Document];
