import { type Static, Type } from 'typebox';
import { Id, Timestamp } from './shared.ts';

/** A channel that follows an announcement channel, and its server (docs/behavior/community.md#followers). */
export const Follower = Type.Object({ channelId: Id, serverId: Id, createdAt: Timestamp });
export type Follower = Static<typeof Follower>;

/** `POST /api/channels/{id}/followers`: the channel that follows. */
export const FollowInput = Type.Object({ channelId: Id });
export type FollowInput = Static<typeof FollowInput>;
