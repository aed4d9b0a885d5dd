import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { DmChannel } from './dm.ts';
import { ReadState } from './read.ts';
import { Server } from './server.ts';
import { Id, Nullable } from './shared.ts';

/** Query of a page of the caller's state. `after` is the `next` of the previous page. */
export const SyncQuery = Type.Object({ after: Type.Optional(Id) });
export type SyncQuery = Static<typeof SyncQuery>;

/** Everything that a client needs when it starts, or when its session cannot be resumed. */
export const Sync = Type.Object({
  /** Oldest first, each as complete as in `GET /api/servers/{serverId}`. */
  servers: Type.Array(Server, { maxItems: limits.serversPerPerson }),
  /** Most recent activity first. Only on the first page. */
  dms: Type.Array(DmChannel, { maxItems: limits.dmsListed }),
  /** The read states of the channels on this page. The channel with the newest message comes first. */
  reads: Type.Array(ReadState, { maxItems: limits.readsListed }),
  /** The `after` of the next page; null on the last page. */
  next: Nullable(Id),
});
export type Sync = Static<typeof Sync>;
