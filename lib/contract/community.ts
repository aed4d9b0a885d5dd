import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Choice, Described, ObjectOf } from './schemas.ts';
import { Id, IdOf, Nullable } from './shared.ts';

/** The category of a server in Discovery (docs/behavior/community.md#settings). */
export const DiscoveryCategory = Choice(
  ['gaming', 'music', 'entertainment', 'science_tech', 'education', 'art_creators', 'anime_manga', 'community_social', 'other'],
  { description: 'The category of a server in Discovery.' },
);
export type DiscoveryCategory = Static<typeof DiscoveryCategory>;

const category = Described(DiscoveryCategory, 'The category of the server. Default: `other`.', 'science_tech');
const tags = Type.Array(Type.String({ description: 'A tag of 1 to 24 characters.', examples: ['math'] }), {
  description: `Tags of 1 to ${limits.discoveryTagChars} characters, at most ${limits.discoveryTags}. Default: none.`,
});

/** The settings of a server for Discovery. */
export const DiscoverySettings = ObjectOf(
  {
    listed: Type.Boolean({ description: 'Whether Discovery lists the server.', examples: [true] }),
    category,
    description: Type.String({
      description: `What the server is about, up to ${limits.discoveryDescriptionChars} characters. Default: empty.`,
      examples: ['Everything about engines that compute.'],
    }),
    tags,
  },
  'The settings of a server for Discovery.',
);

/** A server's Community and Discovery settings. By default the category is `other`, and there is no description and no tag. */
export const CommunitySettings = ObjectOf(
  {
    community: Type.Boolean({ description: 'Whether the server is a Community server.', examples: [true] }),
    rulesChannelId: Nullable(
      IdOf('channel', 'The channel with the rules.'),
      'The channel with the rules; null without Community, and after the channel was deleted.',
    ),
    updatesChannelId: Nullable(
      IdOf('channel', 'The channel for moderators.'),
      'The channel with updates for moderators; null without Community, and after the channel was deleted.',
    ),
    discovery: Described(DiscoverySettings, 'The settings for Discovery. They are kept while Community is off.'),
  },
  'The Community and Discovery settings of a server.',
);
export type CommunitySettings = Static<typeof CommunitySettings>;

/** The fields with the channels that a Community server has chosen. */
export const communityChannelFields = ['rulesChannelId', 'updatesChannelId'] as const;
export type CommunityChannelField = (typeof communityChannelFields)[number];

const ChannelIdOrNew = (purpose: string) =>
  Type.Optional(
    Described(
      Nullable(Type.Union([Id, Type.Literal('new')])),
      `${purpose}: the id of a text channel, or \`new\` to create one. Needed to turn Community on; later, omitting it keeps the channel.`,
      'new',
    ),
  );

/** `PUT /api/servers/{serverId}/community`. The channels are used only with `enabled: true`; `new` creates one. */
export const CommunityInput = ObjectOf(
  {
    enabled: Type.Boolean({
      description: 'Whether the server shall be a Community server. false also takes it out of Discovery.',
      examples: [true],
    }),
    rulesChannelId: ChannelIdOrNew('The channel with the rules'),
    updatesChannelId: ChannelIdOrNew('The channel with updates for moderators'),
  },
  'Turns Community on or off. The channels are read only with `enabled: true`.',
);
export type CommunityInput = Static<typeof CommunityInput>;

/** `PUT /api/servers/{serverId}/discovery`. Omitted fields do not change. The limits of tags apply after trimming. */
export const DiscoveryInput = ObjectOf(
  {
    listed: Type.Optional(
      Type.Boolean({
        description:
          'Whether Discovery lists the server. It must be a Community server with a description, and no staff or developer server.',
        examples: [true],
      }),
    ),
    category: Type.Optional(Described(DiscoveryCategory, 'The category of the server.', 'science_tech')),
    description: Type.Optional(
      Type.String({
        maxLength: limits.discoveryDescriptionChars,
        characters: 'text',
        description: `What the server is about, up to ${limits.discoveryDescriptionChars} characters. A listed server needs one.`,
        examples: ['Everything about engines that compute.'],
      }),
    ),
    tags: Type.Optional(
      Type.Array(
        Type.String({
          pattern: '^[^,\\r\\n\\u2028\\u2029]*$',
          characters: 'text',
          patternText: 'Use no commas and no line breaks.',
          description: 'A tag of 1 to 24 characters without commas and line breaks. White space at its ends is removed.',
          examples: ['math'],
        }),
        { description: `The tags, at most ${limits.discoveryTags}. Of tags that differ only in case, the first one stays.` },
      ),
    ),
  },
  'A change of the Discovery settings. Omitted fields do not change.',
);
export type DiscoveryInput = Static<typeof DiscoveryInput>;
