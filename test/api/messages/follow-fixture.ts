import type { Channel } from '../../../lib/contract/channel.ts';
import type { Follower } from '../../../lib/contract/follower.ts';
import type { AuditPage } from '../../../lib/contract/member.ts';
import type { FollowDoc } from '../../../lib/store/mongo/models/follow.ts';
import type { TestApi } from '../../harness/api.ts';
import { makeChannel, makeServer, type Place } from '../../harness/factories.ts';
import { type Caller, send } from '../../harness/requests.ts';
import { make, newMember, useServer } from '../../harness/use.ts';

/** Two servers: one with an announcement channel, and one with a channel that can follow it. Both channels are made for every test. */
export interface FollowFixture {
  api: TestApi;
  /** Owns `from`. */
  owner: Caller;
  /** Owns `to`, and is a member of `from` without more permissions. */
  follower: Caller;
  from: Place;
  to: Place;
  /** The announcement channel. */
  news: Channel;
  /** The text channel that follows it. */
  target: Channel;
  /** The path of the followers of `news`, or of another channel. */
  path(channelId?: string): string;
  /** Makes a channel, by default `target`, follow `news`. */
  follow(channelId?: string, as?: Caller, status?: number): Promise<Follower>;
  /** The stored followers of `news`. */
  stored(): Promise<FollowDoc[]>;
  /** Stores this many followers of `news` whose channels do not exist. */
  fill(count: number): Promise<void>;
  /** The audit entries about `target`. */
  audit(): Promise<{ action: string; changes: object; actorId: string }[]>;
}

/** Starts an API with such servers. */
export function useFollows(): FollowFixture {
  const { api, owner, server: from, follower } = useServer({ follower: newMember() });
  const to = make(() => makeServer(api, follower));
  const news = make(() => makeChannel(api, owner, from.id, { kind: 'announcement' }), { each: true });
  const target = make(() => makeChannel(api, follower, to.id), { each: true });
  const path = (channelId = news.id): string => `/api/channels/${channelId}/followers`;
  const emptyFollow = (slot: number): FollowDoc => {
    const id = api.platform.ids.next();
    return { _id: `${news.id}:${id}`, sourceId: news.id, targetId: id, serverId: id, createId: id, slot, createdAt: new Date() };
  };
  return {
    api,
    owner,
    follower,
    from,
    to,
    news,
    target,
    path,
    follow: (channelId = target.id, as = follower, status = 201) => send(api, status, as, 'POST', path(), { channelId }),
    stored: () => api.platform.db.follows.find({ sourceId: news.id }).sort({ _id: 1 }).toArray(),
    fill: async (count) => void (await api.platform.db.follows.insertMany(Array.from({ length: count }, (_, slot) => emptyFollow(slot)))),
    async audit() {
      const { items } = await send<AuditPage>(api, 200, follower, 'GET', `/api/servers/${to.id}/audit-log`);
      return items.filter(({ targetId }) => targetId === target.id).map(({ action, changes, actorId }) => ({ action, changes, actorId }));
    },
  };
}
