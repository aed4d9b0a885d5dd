import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { DmChannel } from './dm.ts';
import { ReadState } from './read.ts';
import { ObjectOf } from './schemas.ts';
import { Server } from './server.ts';
import { IdOf, Nullable } from './shared.ts';

/** Query of a page of the caller's state. `after` is the `next` of the previous page. */
export const SyncQuery = ObjectOf(
  { after: Type.Optional(IdOf('server', 'The `next` of the previous page. Default: the first page.')) },
  'The query of a page of the state of the caller.',
);
export type SyncQuery = Static<typeof SyncQuery>;

/** Everything that a client needs when it starts, or when its session cannot be resumed. */
export const Sync = ObjectOf(
  {
    servers: Type.Array(Server, {
      maxItems: limits.serversPerPerson,
      description: 'Servers of the caller, oldest first, each as complete as in `GET /api/servers/{serverId}`.',
    }),
    dms: Type.Array(DmChannel, {
      maxItems: limits.dmsListed,
      description: 'The direct message channels, most recent activity first. Only on the first page.',
    }),
    reads: Type.Array(ReadState, {
      maxItems: limits.readsListed,
      description: 'The read states of the channels on this page. The channel with the newest message comes first.',
    }),
    next: Nullable(IdOf('server', 'The `after` of the next page.'), 'The `after` of the next page; null on the last page.'),
  },
  'Everything that a client needs when it starts, or when its session cannot be resumed.',
  { next: null },
);
export type Sync = Static<typeof Sync>;
