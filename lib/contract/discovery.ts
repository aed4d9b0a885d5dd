import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { DiscoveryCategory } from './community.ts';
import { ServerType } from './server.ts';
import { Id, Nullable } from './shared.ts';
import { Tag, UserSummary } from './user.ts';

/** Query of a page of the App Directory. `q` is literal text, case-insensitive. An `offset` above the maximum counts as the maximum. */
export const DirectoryQuery = Type.Object({
  q: Type.Optional(Type.String()),
  offset: Type.Optional(Type.Integer({ minimum: 0 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.discoveryPageMax })),
});
export type DirectoryQuery = Static<typeof DirectoryQuery>;

/** Query of a page of Discovery. Without `category`, the page has servers of every category. */
export const DiscoveryQuery = Type.Object({ ...DirectoryQuery.properties, category: Type.Optional(DiscoveryCategory) });
export type DiscoveryQuery = Static<typeof DiscoveryQuery>;

/** A server as Discovery shows it (docs/behavior/community.md#server-list). */
export const DiscoveryServer = Type.Object({
  id: Id,
  name: Type.String(),
  iconUrl: Nullable(Type.String()),
  description: Type.String(),
  category: DiscoveryCategory,
  tags: Type.Array(Type.String()),
  memberCount: Type.Integer(),
  onlineCount: Type.Integer(),
  joined: Type.Boolean(),
  types: Type.Array(ServerType),
});
export type DiscoveryServer = Static<typeof DiscoveryServer>;

/** `GET /api/discovery/servers`. */
export const DiscoveryPage = Type.Object({ items: Type.Array(DiscoveryServer), hasMore: Type.Boolean() });
export type DiscoveryPage = Static<typeof DiscoveryPage>;

/** An application as the App Directory shows it (docs/behavior/community.md#app-directory). */
export const DirectoryApp = Type.Object({
  id: Id,
  name: Type.String(),
  description: Type.String(),
  iconUrl: Nullable(Type.String()),
  bot: Type.Object({ ...UserSummary.properties, tag: Tag }),
  serverCount: Type.Integer(),
});
export type DirectoryApp = Static<typeof DirectoryApp>;

/** `GET /api/discovery/apps`. */
export const DirectoryPage = Type.Object({ items: Type.Array(DirectoryApp), hasMore: Type.Boolean() });
export type DirectoryPage = Static<typeof DirectoryPage>;
