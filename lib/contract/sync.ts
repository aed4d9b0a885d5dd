import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { DmChannel } from './dm.ts';
import { ReadState } from './read.ts';
import { Server } from './server.ts';
import { Id, Nullable } from './shared.ts';

/** Query of a page of the caller's state. `after` is `next` of the page before. */
export const SyncPage = Type.Object({ after: Type.Optional(Id) });
export type SyncPage = Static<typeof SyncPage>;

/** All that a client needs when it starts, or after its session could not be resumed. */
export const Sync = Type.Object({
  /** Oldest first, as full as `GET /api/servers/{serverId}` returns each. */
  servers: Type.Array(Server, { maxItems: limits.serversPerPerson }),
  /** Most recent activity first. Only on the first page. */
  dms: Type.Array(DmChannel, { maxItems: limits.dmsListed }),
  /** Of the channels on this page, newest message first. */
  reads: Type.Array(ReadState, { maxItems: limits.readsListed }),
  /** `after` of the next page; null on the last page. */
  next: Nullable(Id),
});
export type Sync = Static<typeof Sync>;
