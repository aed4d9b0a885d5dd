import type { Static } from 'typebox';
import { Described, ObjectOf } from './schemas.ts';
import { IdOf, Timestamp } from './shared.ts';

/** A channel that follows an announcement channel, and its server (docs/behavior/community.md#followers). */
export const Follower = ObjectOf(
  {
    channelId: IdOf('channel', 'The text channel that follows.'),
    serverId: IdOf('server', 'The server of the channel that follows.'),
    createdAt: Described(Timestamp, 'Since when it follows.'),
  },
  'A channel that follows an announcement channel and gets a copy of each published message.',
);
export type Follower = Static<typeof Follower>;

/** `POST /api/channels/{id}/followers`: the channel that follows. */
export const FollowInput = ObjectOf(
  { channelId: IdOf('channel', 'The text channel that shall follow. The caller needs Manage Webhooks in it.') },
  'Lets a channel follow the announcement channel of the path.',
);
export type FollowInput = Static<typeof FollowInput>;
