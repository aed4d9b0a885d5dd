import type { Follower } from '../../../lib/contract/follower.ts';
import type { AuditPage } from '../../../lib/contract/server.ts';
import type { FollowDoc } from '../../../lib/store/mongo/models/follow.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import { type Caller, makeChannel, makeMember, makePerson, makeServer, type Place, send } from '../../harness/factories.ts';

/** Two servers, one that announces and one that follows; the channels are new for each test. */
export interface FollowFixture {
  api: TestApi;
  /** Owns the announcing server. */
  owner: Caller;
  /** Owns the following server, and is a plain member of the announcing one. */
  follower: Caller;
  from: Place;
  to: Place;
  /** The announcement channel, and a text channel beside it. */
  news: string;
  text: string;
  /** The text channel that follows. */
  target: string;
  /** Makes new channels: for beforeEach. */
  renew: () => Promise<void>;
  path: (id?: string) => string;
  follow: (channelId?: string, as?: Caller, status?: number) => Promise<Follower>;
  /** The stored rows of the announcement channel. */
  rows: () => Promise<FollowDoc[]>;
  /** Rows of so many followers that are nothing but rows. */
  fill: (many: number) => Promise<void>;
  /** The audit entries about the target. */
  audit: () => Promise<{ action: string; changes: object; actorId: string }[]>;
}

/** Starts an API with such servers. */
export async function followFixture(): Promise<FollowFixture> {
  const api = await startTestApi();
  const { db, ids } = api.platform;
  const owner = await makePerson(api);
  const from = await makeServer(api, owner);
  const follower = await makeMember(api, owner, from.id);
  const to = await makeServer(api, follower);
  const row = (sourceId: string, slot: number): FollowDoc => {
    const id = ids.next();
    return { _id: `${sourceId}:${id}`, sourceId, targetId: id, serverId: id, createId: id, slot, createdAt: new Date() };
  };
  const fixture: FollowFixture = {
    api,
    owner,
    follower,
    from,
    to,
    news: '',
    text: from.general,
    target: '',
    async renew() {
      fixture.news = (await makeChannel(api, owner, from.id, { kind: 'announcement' })).id;
      fixture.target = (await makeChannel(api, follower, to.id)).id;
    },
    path: (id = fixture.news) => `/api/channels/${id}/followers`,
    follow: (channelId = fixture.target, as = follower, status = 201) => send(api, status, as, 'POST', fixture.path(), { channelId }),
    rows: async () => await db.follows.find({ sourceId: fixture.news }).sort({ _id: 1 }).lean(),
    async fill(many) {
      const { news } = fixture;
      await db.follows.insertMany(Array.from({ length: many }, (_, slot) => row(news, slot)));
    },
    async audit() {
      const { items } = await send<AuditPage>(api, 200, follower, 'GET', `/api/servers/${to.id}/audit-log`);
      return items
        .filter(({ targetId }) => targetId === fixture.target)
        .map(({ action, changes, actorId }) => ({ action, changes, actorId }));
    },
  };
  return fixture;
}
