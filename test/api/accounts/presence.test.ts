import { expect } from 'chai';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Member } from '../../../lib/contract/member.ts';
import type { ChosenStatus, Me, Profile, VisibleStatus } from '../../../lib/contract/user.ts';
import { loadOnlineCounts } from '../../../lib/domain/servers/online-counts.ts';
import { createKeys } from '../../../lib/store/redis/log/keys.ts';
import { openRedis } from '../../../lib/store/redis/redis.ts';
import { authorize, makeBot, makeMember, makeServer, openDm, type Place } from '../../harness/factories.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { type Caller, refused, send } from '../../harness/requests.ts';
import { startSessions } from '../../harness/sessions.ts';
import { newBot, newMember, use, useServer } from '../../harness/use.ts';

const path = '/api/users/@me/presence';
const emoji = '🎈';

describe('PATCH /api/users/@me/presence', () => {
  const { api, owner, server, bot, member } = useServer({ bot: newBot(), member: newMember() }, { each: true });
  const sessions = use(() => startSessions(api));

  const patch = (as: Caller, body: unknown): Promise<Me> => send(api, 200, as, 'PATCH', path, body);
  const me = (as: Caller): Promise<Me> => send(api, 200, as, 'GET', '/api/auth/me');
  /** The status and custom status of `whose` in everything that the owner of the server can read, which must agree. */
  const seen = async (whose: Caller): Promise<[VisibleStatus, string | null]> => {
    const one = await send<Member>(api, 200, owner, 'GET', `/api/servers/${server.id}/members/${whose.id}`);
    const members = await send<Member[]>(api, 200, owner, 'GET', `/api/servers/${server.id}/members`);
    const dms = await send<DmChannel[]>(api, 200, owner, 'GET', '/api/users/@me/channels');
    const profile = await send<Profile>(api, 200, owner, 'GET', `/api/users/${whose.id}/profile`);
    const users = [
      one,
      members.find(({ user }) => user.id === whose.id),
      dms.find((dm) => dm.recipient.id === whose.id)?.recipient,
      profile.user,
    ];
    const shown = users.map((user) => JSON.stringify([user?.status, user?.customStatus]));
    expect(new Set(shown).size, shown.join(' ')).to.equal(1);
    return JSON.parse(shown[0] as string) as [VisibleStatus, string | null];
  };

  const statuses: [chosen: ChosenStatus, live: VisibleStatus][] = [
    ['online', 'online'],
    ['idle', 'idle'],
    ['dnd', 'dnd'],
    ['invisible', 'offline'],
  ];
  for (const [status, live] of statuses)
    it(`${status}: the account always sees it; others see ${live} while the account is connected, else offline`, async () => {
      for (const who of [bot, member]) {
        await openDm(api, owner, who);
        const before = await me(who);
        expect(await patch(who, { status })).to.deep.equal({ ...before, status });
        expect(await me(who)).to.deep.equal({ ...before, status });
        expect(await seen(who)).to.deep.equal(['offline', null]);
        const session = await sessions.open(who, 'a-node');
        expect(await seen(who)).to.deep.equal([live, null]);
        await sessions.release(session, 'suspend');
        expect(await seen(who)).to.deep.equal(['offline', null]);
        expect((await me(who)).status).to.equal(status);
      }
    });

  it('changes only the given fields', async () => {
    await patch(bot, { status: 'dnd', customStatus: 'busy' });
    for (const [body, now] of [
      [{ status: 'idle' }, ['idle', 'busy']],
      [{ customStatus: 'free' }, ['idle', 'free']],
      [{}, ['idle', 'free']],
      [{ status: 'dnd', customStatus: 'x', bot: false }, ['dnd', 'x']],
    ] as const) {
      const { status, customStatus, bot: isBot } = await patch(bot, body);
      expect([status, customStatus, isBot]).to.deep.equal([...now, true]);
    }
  });

  it('null and empty text clear the custom status', async () => {
    await openDm(api, owner, bot);
    for (const empty of [null, '']) {
      await patch(bot, { customStatus: 'busy' });
      expect(await seen(bot)).to.deep.equal(['offline', 'busy']);
      expect((await patch(bot, { customStatus: empty })).customStatus, JSON.stringify(empty)).to.equal(null);
      expect(await seen(bot), JSON.stringify(empty)).to.deep.equal(['offline', null]);
    }
  });

  it('200 for a custom status of 128 emoji, 400 for 129', async () => {
    expect((await patch(bot, { customStatus: emoji.repeat(128) })).customStatus).to.equal(emoji.repeat(128));
    const error = await refused(api, [400, 'invalid_request'], bot, 'PATCH', path, { customStatus: emoji.repeat(129) });
    expect(error.errors?.[0]?.path).to.equal('/customStatus');
    expect((await me(bot)).customStatus).to.equal(emoji.repeat(128));
  });

  it('400 for other values, and nothing changes', async () => {
    const wrong = ['offline', 'Online', '', null, 1].map((status) => ({ status }));
    for (const body of [...wrong, { customStatus: 7 }, { customStatus: ['a'] }, [], 'x', null]) {
      await refused(api, [400, 'invalid_request'], bot, 'PATCH', path, JSON.stringify(body));
      expect(await me(bot), JSON.stringify(body)).to.deep.include({ status: 'online', customStatus: null });
    }
  });

  it('an account is online while it has a session on any live node', async () => {
    await openDm(api, owner, bot);
    const one = await sessions.open(bot, 'node-1');
    const two = await sessions.open(bot, 'node-2');
    await sessions.release(one, 'end');
    expect((await seen(bot))[0]).to.equal('online');
    await sessions.kill('node-2');
    expect((await seen(bot))[0]).to.equal('offline');
    await sessions.revive('node-2');
    expect((await seen(bot))[0]).to.equal('online');
    await sessions.release(two, 'end');
    expect((await seen(bot))[0]).to.equal('offline');
  });

  describe('online counts', () => {
    const counted = async ({ id }: Place): Promise<number> => (await loadOnlineCounts(api.platform, [id])).get(id) ?? -1;
    const reaches = (counts: Place, many: number) => waitUntil(async () => (await counted(counts)) === many, `${many} online`);

    it('count each connected member once in each of their servers, without invisible ones', async () => {
      const [here, there] = [await makeServer(api, owner), await makeServer(api, owner)];
      const one = await makeMember(api, owner, here.id);
      const both = await makeBot(api, owner, here.id);
      await authorize(api, owner, both, there.id);
      expect([await counted(here), await counted(there)]).to.deep.equal([0, 0]);
      const opened = [await sessions.open(both, 'node-1'), await sessions.open(both, 'node-2'), await sessions.open(one, 'node-1')];
      await reaches(here, 2);
      expect(await counted(there)).to.equal(1);
      await patch(both, { status: 'invisible' });
      await reaches(there, 0);
      expect(await counted(here)).to.equal(1);
      await patch(both, { status: 'dnd' });
      await reaches(there, 1);
      await sessions.kill('node-2');
      await reaches(there, 1);
      for (const session of opened) await sessions.release(session, 'end');
      await reaches(there, 0);
      await reaches(here, 0);
    });

    it('are returned for several servers at once, also for unknown ones', async () => {
      const asked = [server.id, '1000000000000000001'];
      expect([...(await loadOnlineCounts(api.platform, asked)).keys()]).to.deep.equal(asked);
    });

    it('do not count a session that has expired', async () => {
      const session = await sessions.open(owner, 'node-1');
      await reaches(server, 1);
      // As if it had expired: only its entry in the list of its node is left.
      const { config, log } = api.platform;
      const redis = await openRedis(config, log, 'test');
      await redis.del(`${createKeys(config.REDIS_PREFIX, config.LOG_PARTITIONS).partitionPrefix(0)}ses:${session.id}`);
      redis.disconnect();
      await reaches(server, 0);
      expect(await api.platform.connections.listConnected()).not.to.include(owner.id);
    });
  });
});
