import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Choice, Id, Nullable } from './shared.ts';

/** The category of a server in Discovery (docs/behavior/community.md#settings). */
export const DiscoveryCategory = Choice([
  'gaming',
  'music',
  'entertainment',
  'science_tech',
  'education',
  'art_creators',
  'anime_manga',
  'community_social',
  'other',
]);
export type DiscoveryCategory = Static<typeof DiscoveryCategory>;

/** A server's Community and Discovery settings. By default the category is `other`, and there is no description and no tag. */
export const CommunitySettings = Type.Object({
  community: Type.Boolean(),
  rulesChannelId: Nullable(Id),
  updatesChannelId: Nullable(Id),
  discovery: Type.Object({
    listed: Type.Boolean(),
    category: DiscoveryCategory,
    description: Type.String(),
    tags: Type.Array(Type.String()),
  }),
});
export type CommunitySettings = Static<typeof CommunitySettings>;

/** The fields with the channels that a Community server has chosen. */
export const communityChannelFields = ['rulesChannelId', 'updatesChannelId'] as const;
export type CommunityChannelField = (typeof communityChannelFields)[number];

const ChannelIdOrNew = Type.Optional(Nullable(Type.Union([Id, Type.Literal('new')])));

/** `PUT /api/servers/{serverId}/community`. The channels are used only with `enabled: true`; `new` creates one. */
export const CommunityInput = Type.Object({
  enabled: Type.Boolean(),
  rulesChannelId: ChannelIdOrNew,
  updatesChannelId: ChannelIdOrNew,
});
export type CommunityInput = Static<typeof CommunityInput>;

/** `PUT /api/servers/{serverId}/discovery`. Omitted fields do not change. The limits of tags apply after trimming. */
export const DiscoveryInput = Type.Object({
  listed: Type.Optional(Type.Boolean()),
  category: Type.Optional(DiscoveryCategory),
  description: Type.Optional(Type.String({ maxLength: limits.discoveryDescriptionChars })),
  tags: Type.Optional(
    Type.Array(Type.String({ pattern: '^[^,\\r\\n\\u2028\\u2029]*$', patternText: 'Use no commas and no line breaks.' })),
  ),
});
export type DiscoveryInput = Static<typeof DiscoveryInput>;
