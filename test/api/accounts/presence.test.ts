import { expect } from 'chai';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Member } from '../../../lib/contract/server.ts';
import type { ChosenStatus, Me, Profile, SeenStatus } from '../../../lib/contract/user.ts';
import { onlineCountsOf } from '../../../lib/domain/servers/online-counts.ts';
import { type GatewayPlatform, openGatewayPlatform } from '../../../lib/store/platform.ts';
import { createKeys } from '../../../lib/store/redis/log/keys.ts';
import { openRedis } from '../../../lib/store/redis/redis.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import { type Bot, type Caller, makeBot, makeMember, makePerson, makeServer, type Place, refused, send } from '../../harness/factories.ts';
import { until } from '../../harness/scene.ts';

const path = '/api/users/@me/presence';
const emoji = '🎈';

describe('PATCH /api/users/@me/presence', () => {
  let api: TestApi;
  let gateway: GatewayPlatform;
  let owner: Caller;
  let server: Place;
  let bot: Bot;
  let member: Caller;
  let opened = 0;
  /** The nodes that live: their leases are renewed. */
  const nodes = new Set<string>();
  const beat = setInterval(() => {
    for (const node of nodes) gateway.sessions.renewLease(node).catch(() => undefined);
  }, 1_000);
  before(async () => {
    api = await startTestApi();
    gateway = await openGatewayPlatform(api.platform.config, api.platform.log);
    owner = await makePerson(api);
    server = await makeServer(api, owner);
  });
  after(async () => {
    clearInterval(beat);
    await gateway.close();
    await api.close();
  });
  beforeEach(async () => {
    bot = await makeBot(api, owner, server.id);
    member = await makeMember(api, owner, server.id);
  });

  const patch = (as: Caller, body: unknown): Promise<Me> => send(api, 200, as, 'PATCH', path, body);
  const me = (as: Caller): Promise<Me> => send(api, 200, as, 'GET', '/api/auth/me');
  /** Opens a session of the account on a node, as its socket does. */
  const connect = async ({ id: accountId }: Caller, node: string) => {
    nodes.add(node);
    await gateway.sessions.renewLease(node);
    const session = { id: `s${++opened}`, accountId, owner: `${node}-${opened}` };
    await gateway.sessions.open({ ...session, node, events: [] });
    return session;
  };
  /** The status and custom status of `whose` wherever the owner of the server sees them. */
  const seen = async (whose: Caller): Promise<[SeenStatus, string | null]> => {
    const one = await send<Member>(api, 200, owner, 'GET', `/api/servers/${server.id}/members/${whose.id}`);
    const members = await send<Member[]>(api, 200, owner, 'GET', `/api/servers/${server.id}/members`);
    const dms = await send<DmChannel[]>(api, 200, owner, 'GET', '/api/users/@me/channels');
    const profile = await send<Profile>(api, 200, owner, 'GET', `/api/users/${whose.id}/profile`);
    const places = [
      one,
      members.find(({ user }) => user.id === whose.id),
      dms.find((dm) => dm.recipient.id === whose.id)?.recipient,
      profile.user,
    ];
    const shown = places.map((place) => JSON.stringify([place?.status, place?.customStatus]));
    expect(new Set(shown).size, shown.join(' ')).to.equal(1);
    return JSON.parse(shown[0] as string) as [SeenStatus, string | null];
  };
  const openDm = (whose: Caller) => send(api, 201, owner, 'POST', '/api/users/@me/channels', { recipientId: whose.id });

  const statuses: [chosen: ChosenStatus, live: SeenStatus][] = [
    ['online', 'online'],
    ['idle', 'idle'],
    ['dnd', 'dnd'],
    ['invisible', 'offline'],
  ];
  for (const [status, live] of statuses)
    it(`${status}: kept, told to oneself as chosen; others see ${live} while connected, offline otherwise`, async () => {
      for (const who of [bot, member]) {
        await openDm(who);
        const before = await me(who);
        expect(await patch(who, { status })).to.deep.equal({ ...before, status });
        expect(await me(who)).to.deep.equal({ ...before, status });
        expect(await seen(who)).to.deep.equal(['offline', null]);
        const session = await connect(who, 'a-node');
        expect(await seen(who)).to.deep.equal([live, null]);
        await gateway.sessions.leave(session, 'wait');
        expect(await seen(who)).to.deep.equal(['offline', null]);
        expect((await me(who)).status).to.equal(status);
      }
    });

  it('is partial: what is left out stays, {} changes nothing', async () => {
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

  for (const nothing of [null, ''])
    it(`${JSON.stringify(nothing)} clears the custom status`, async () => {
      await openDm(bot);
      await patch(bot, { customStatus: 'busy' });
      expect(await seen(bot)).to.deep.equal(['offline', 'busy']);
      expect((await patch(bot, { customStatus: nothing })).customStatus).to.equal(null);
      expect(await seen(bot)).to.deep.equal(['offline', null]);
    });

  it('a custom status of 128 characters fits, however wide; 129 do not', async () => {
    expect((await patch(bot, { customStatus: emoji.repeat(128) })).customStatus).to.equal(emoji.repeat(128));
    const error = await refused(api, [400, 'invalid_request'], bot, 'PATCH', path, { customStatus: emoji.repeat(129) });
    expect(error.errors?.[0]?.path).to.equal('/customStatus');
    expect((await me(bot)).customStatus).to.equal(emoji.repeat(128));
  });

  const wrong = [
    { status: 'offline' },
    { status: 'Online' },
    { status: '' },
    { status: null },
    { status: 1 },
    { customStatus: 7 },
    { customStatus: ['a'] },
  ];
  for (const body of [...wrong, [], 'x', null])
    it(`400 for ${JSON.stringify(body)}, and nothing changes`, async () => {
      await refused(api, [400, 'invalid_request'], bot, 'PATCH', path, JSON.stringify(body));
      expect(await me(bot)).to.deep.include({ status: 'online', customStatus: null });
    });

  it('401 without a credential', () => refused(api, [401, 'unauthorized'], null, 'PATCH', path, { status: 'idle' }));

  it('online needs one live socket on any node: the last to go takes it away, however it goes', async () => {
    await openDm(bot);
    const one = await connect(bot, 'node-1');
    const two = await connect(bot, 'node-2');
    await gateway.sessions.leave(one, 'end');
    expect((await seen(bot))[0]).to.equal('online');
    // The node that held the other died: its lease ends.
    nodes.delete('node-2');
    await gateway.sessions.dropLease('node-2');
    expect((await seen(bot))[0]).to.equal('offline');
    await gateway.sessions.renewLease('node-2');
    expect((await seen(bot))[0]).to.equal('online');
    await gateway.sessions.leave(two, 'end');
    expect((await seen(bot))[0]).to.equal('offline');
  });

  describe('online counts', () => {
    const counted = async (place: Place): Promise<number> => (await onlineCountsOf(api.platform, [place.id])).get(place.id) ?? -1;
    const reaches = (place: Place, many: number) => until(async () => (await counted(place)) === many, `${many} online`);

    it('count each connected member once, not the invisible, in every server that they are in', async () => {
      const [here, there] = [await makeServer(api, owner), await makeServer(api, owner)];
      const one = await makeMember(api, owner, here.id);
      const both = await makeBot(api, owner, here.id);
      await send(api, 201, owner, 'POST', `/api/applications/${both.applicationId}/authorize`, { serverId: there.id });
      expect([await counted(here), await counted(there)]).to.deep.equal([0, 0]);
      const sessions = [await connect(both, 'node-1'), await connect(both, 'node-2'), await connect(one, 'node-1')];
      await reaches(here, 2);
      expect(await counted(there)).to.equal(1);
      await patch(both, { status: 'invisible' });
      await reaches(there, 0);
      expect(await counted(here)).to.equal(1);
      await patch(both, { status: 'dnd' });
      await reaches(there, 1);
      nodes.delete('node-2');
      await gateway.sessions.dropLease('node-2');
      await reaches(there, 1);
      for (const session of sessions) await gateway.sessions.leave(session, 'end');
      await reaches(there, 0);
      await reaches(here, 0);
    });

    it('ask for many servers at once, also for ones that nobody knows', async () => {
      const asked = [server.id, '1000000000000000001'];
      expect([...(await onlineCountsOf(api.platform, asked)).keys()]).to.deep.equal(asked);
    });

    it('a session that ended without a word is counted no more', async () => {
      const place = await makeServer(api, owner);
      const session = await connect(owner, 'node-1');
      await reaches(place, 1);
      // As if it had expired: nothing of it is left but its place in the list of its node.
      const { config, log } = api.platform;
      const redis = await openRedis(config, log, 'test');
      await redis.del(`${createKeys(config.REDIS_PREFIX, config.LOG_PARTITIONS).partition(0)}ses:${session.id}`);
      redis.disconnect();
      await reaches(place, 0);
      expect(await api.platform.connectedNow()).not.to.include(owner.id);
    });
  });
});
