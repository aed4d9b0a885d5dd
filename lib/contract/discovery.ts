import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { DiscoveryCategory } from './community.ts';
import { Described, ObjectOf } from './schemas.ts';
import { ServerType } from './server.ts';
import { HasMore, IdOf, PageLimit, PictureUrl } from './shared.ts';
import { Tag, UserSummary } from './user.ts';

/** Query of a page of the App Directory. `q` is literal text, case-insensitive. An `offset` above the maximum counts as the maximum. */
export const DirectoryQuery = ObjectOf(
  {
    q: Type.Optional(
      Type.String({ description: 'Only entries that contain this text, in any case. Default: all entries.', examples: ['dice'] }),
    ),
    offset: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: `How many entries to skip. Default: 0. More than ${limits.discoveryOffsetMax} counts as ${limits.discoveryOffsetMax}.`,
      }),
    ),
    limit: Type.Optional(PageLimit(limits.discoveryPageMax, limits.discoveryPageDefault)),
  },
  'The query of a page of the App Directory.',
);
export type DirectoryQuery = Static<typeof DirectoryQuery>;

/** Query of a page of Discovery. Without `category`, the page has servers of every category. */
export const DiscoveryQuery = ObjectOf(
  {
    ...DirectoryQuery.properties,
    category: Type.Optional(Described(DiscoveryCategory, 'Only servers of this category. Default: all categories.')),
  },
  'The query of a page of Discovery.',
);
export type DiscoveryQuery = Static<typeof DiscoveryQuery>;

/** A server as Discovery shows it (docs/behavior/community.md#server-list). */
export const DiscoveryServer = ObjectOf(
  {
    id: IdOf('server', 'The id of the server.'),
    name: Type.String({ description: 'The name of the server.', examples: ['Analytical Engine'] }),
    iconUrl: PictureUrl('The address of the icon; null if there is none.'),
    description: Type.String({ description: 'What the server is about.', examples: ['Everything about engines that compute.'] }),
    category: Described(DiscoveryCategory, 'The category of the server.', 'science_tech'),
    tags: Type.Array(Type.String({ description: 'A tag.', examples: ['math'] }), { description: 'The tags of the server.' }),
    memberCount: Type.Integer({ description: 'The number of members, people and bots together.', examples: [1840] }),
    onlineCount: Type.Integer({
      description: 'The number of members who are connected and not invisible. It can be some seconds old.',
      examples: [312],
    }),
    joined: Type.Boolean({ description: 'Whether the caller is in the server.' }),
    types: Type.Array(ServerType, { description: 'The types that operators gave to the server.' }),
  },
  'A server in Discovery.',
  { types: [] },
);
export type DiscoveryServer = Static<typeof DiscoveryServer>;

/** `GET /api/discovery/servers`. */
export const DiscoveryPage = ObjectOf(
  { items: Type.Array(DiscoveryServer, { description: 'The servers, most members first.' }), hasMore: HasMore },
  'A page of Discovery.',
);
export type DiscoveryPage = Static<typeof DiscoveryPage>;

/** The bot of an application in the App Directory. */
export const DirectoryBot = ObjectOf(
  { ...UserSummary.properties, tag: Described(Tag, 'The tag of the bot: `verified_bot` if an operator verified it.') },
  'The bot of an application in the App Directory.',
);

/** An application as the App Directory shows it (docs/behavior/community.md#app-directory). */
export const DirectoryApp = ObjectOf(
  {
    id: IdOf('application', 'The id of the application.'),
    name: Type.String({ description: 'The name of the application.', examples: ['Dice'] }),
    description: Type.String({ description: 'What the application does. It may be empty.', examples: ['Rolls dice.'] }),
    iconUrl: PictureUrl('The address of the icon; null if there is none.'),
    bot: Described(DirectoryBot, 'The account of the bot.'),
    serverCount: Type.Integer({ description: 'The number of servers that the bot is in.', examples: [57] }),
  },
  'An application in the App Directory.',
);
export type DirectoryApp = Static<typeof DirectoryApp>;

/** `GET /api/discovery/apps`. */
export const DirectoryPage = ObjectOf(
  {
    items: Type.Array(DirectoryApp, { description: 'The applications: verified bots first, then those in most servers.' }),
    hasMore: HasMore,
  },
  'A page of the App Directory.',
);
export type DirectoryPage = Static<typeof DirectoryPage>;
