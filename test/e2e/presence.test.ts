import { expect } from 'chai';
import type { DiscoveryPage } from '../../lib/contract/discovery.ts';
import type { Member } from '../../lib/contract/server.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { type Caller, makeBot, makeMember, makePerson, makeServer, send } from '../harness/factories.ts';
import { until } from '../harness/scene.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import { type Ear, listenAs } from '../harness/whole.ts';

describe('presence when a gateway is killed', function () {
  this.timeout(180_000);
  let api: TestApi;
  let stack: Stack;
  let owner: Caller;
  let serverId: string;
  const ears: Ear[] = [];
  before(async () => {
    api = await startTestApi({ RATE_LIMIT: 'off' });
    const { MONGODB_URL, REDIS_URL, REDIS_PREFIX, FILES_DIR, APP_KEY } = api.platform.config;
    const env = {
      MONGODB_URL,
      REDIS_URL,
      REDIS_PREFIX,
      FILES_DIR,
      APP_KEY: APP_KEY.toString('base64'),
      RATE_LIMIT: 'off',
      LOG_LEVEL: 'warn',
    };
    stack = await startStack({ api: 0, gateway: 2, worker: 1 }, env);
    owner = await makePerson(api);
    serverId = (await makeServer(api, owner)).id;
    const at = `/api/servers/${serverId}`;
    await send(api, 200, owner, 'PUT', `${at}/community`, { enabled: true, rulesChannelId: 'new', updatesChannelId: 'new' });
    await send(api, 200, owner, 'PUT', `${at}/discovery`, { listed: true, description: 'here' });
  });
  after(async () => {
    await Promise.all(ears.map((ear) => ear.client.close()));
    await stack.close();
    await api.close();
  });

  it('who was there is offline in 8 s; who comes back through the other gateway before that never was, for a bot and a person', async () => {
    const [gone, back] = [
      [await makeBot(api, owner, serverId), await makeMember(api, owner, serverId)],
      [await makeBot(api, owner, serverId), await makeMember(api, owner, serverId)],
    ];
    const listener = await makeBot(api, owner, serverId);
    const way = { gatewayUrl: stack.gatewayUrl(0) };
    const hear = async (from: { gatewayUrl: string }, one: Caller, resumes = false): Promise<Ear> => {
      const ear = await listenAs(from, one.token, ['PRESENCE_UPDATE'], resumes);
      ears.push(ear);
      return ear;
    };
    const other = { gatewayUrl: stack.gatewayUrl(1) };
    const listening = [await hear(other, listener), await hear(other, owner)];
    // A bot receives the presences of a small server, a person those that it watches.
    await listening[1]?.client.watch([...gone, ...back].map(({ id }) => id));
    for (const one of gone) await hear(way, one);
    const returning = [await hear(way, back[0] as Caller, true), await hear(way, back[1] as Caller, true)];

    const told = (ear: Ear, { id }: Caller): unknown[] =>
      ear.heard.flatMap(({ t, d }) => (t === 'PRESENCE_UPDATE' && d.userId === id ? [d.status] : []));
    const statuses = async (who: readonly Caller[]): Promise<unknown[]> => {
      const members = await send<Member[]>(api, 200, owner, 'GET', `/api/servers/${serverId}/members`);
      return who.map(({ id }) => members.find(({ user }) => user.id === id)?.status);
    };
    const online = async (): Promise<number | undefined> =>
      (await send<DiscoveryPage>(api, 200, owner, 'GET', '/api/discovery/servers')).items.find(({ id }) => id === serverId)?.onlineCount;
    for (const ear of listening)
      for (const one of [...gone, ...back]) await ear.hears(({ d }) => d.userId === one.id && d.status === 'online');
    await until(async () => (await online()) === 6, 'six to be counted online');

    way.gatewayUrl = other.gatewayUrl;
    await stack.gateways[0]?.stop('SIGKILL');
    await until(async () => {
      expect(await statuses(back)).to.deep.equal(['online', 'online']);
      return (await statuses(gone)).every((status) => status === 'offline');
    }, 'those who were there to be offline');
    for (const ear of listening) for (const one of gone) await ear.hears(({ d }) => d.userId === one.id && d.status === 'offline');
    await until(async () => (await online()) === 4, 'four to be counted online');
    expect(returning.map(({ client }) => client.stats.connects > 1)).to.deep.equal([true, true]);

    for (const one of gone) await hear(other, one);
    for (const ear of listening)
      for (const one of gone) {
        await until(() => told(ear, one).length === 3, 'those who are there again to be online');
        expect(told(ear, one)).to.deep.equal(['online', 'offline', 'online']);
      }
    for (const ear of listening) for (const one of back) expect(told(ear, one)).to.deep.equal(['online']);
    expect(await statuses([...gone, ...back])).to.deep.equal(['online', 'online', 'online', 'online']);
  });
});
