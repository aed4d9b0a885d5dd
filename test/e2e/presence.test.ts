import { expect } from 'chai';
import type { DiscoveryPage } from '../../lib/contract/discovery.ts';
import type { Member } from '../../lib/contract/member.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { makeBot, makeMember, makePerson, makeServer } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type EventRecorder, recordEvents } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { type Stack, startStack } from '../harness/stack.ts';

describe('presence after a gateway node was killed', () => {
  let api: TestApi;
  let stack: Stack;
  let owner: Caller;
  let serverId: string;
  const recorders: EventRecorder[] = [];
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
    await Promise.all(recorders.map((recorder) => recorder.client.close()));
    await stack.close();
    await api.close();
  });

  it('shows bots and people of the node as offline, except those that reconnect to another node in time', async () => {
    const [lost, returning] = [
      [await makeBot(api, owner, serverId), await makeMember(api, owner, serverId)],
      [await makeBot(api, owner, serverId), await makeMember(api, owner, serverId)],
    ];
    const listener = await makeBot(api, owner, serverId);
    const killedNode = { gatewayUrl: stack.gatewayUrl(0) };
    const connect = async (from: { gatewayUrl: string }, one: Caller, resumes = false): Promise<EventRecorder> => {
      const recorder = await recordEvents(from, one.token, ['PRESENCE_UPDATE'], resumes);
      recorders.push(recorder);
      return recorder;
    };
    const otherNode = { gatewayUrl: stack.gatewayUrl(1) };
    const observers = [await connect(otherNode, listener), await connect(otherNode, owner)];
    // A bot receives the presences of a small server, a person those that it watches.
    await observers[1]?.client.watch([...lost, ...returning].map(({ id }) => id));
    for (const one of lost) await connect(killedNode, one);
    const returningListeners = [
      await connect(killedNode, returning[0] as Caller, true),
      await connect(killedNode, returning[1] as Caller, true),
    ];

    const statusesReceived = (recorder: EventRecorder, { id }: Caller): unknown[] =>
      recorder.received.flatMap(({ t, d }) => (t === 'PRESENCE_UPDATE' && d.userId === id ? [d.status] : []));
    const statuses = async (who: readonly Caller[]): Promise<unknown[]> => {
      const members = await send<Member[]>(api, 200, owner, 'GET', `/api/servers/${serverId}/members`);
      return who.map(({ id }) => members.find(({ user }) => user.id === id)?.status);
    };
    const online = async (): Promise<number | undefined> =>
      (await send<DiscoveryPage>(api, 200, owner, 'GET', '/api/discovery/servers')).items.find(({ id }) => id === serverId)?.onlineCount;
    for (const recorder of observers)
      for (const one of [...lost, ...returning]) await recorder.waitFor(({ d }) => d.userId === one.id && d.status === 'online');
    await waitUntil(async () => (await online()) === 6, 'six are counted as online');

    killedNode.gatewayUrl = otherNode.gatewayUrl;
    await stack.gateways[0]?.stop('SIGKILL');
    await waitUntil(async () => {
      expect(await statuses(returning)).to.deep.equal(['online', 'online']);
      return (await statuses(lost)).every((status) => status === 'offline');
    }, 'the lost accounts are offline');
    for (const recorder of observers)
      for (const one of lost) await recorder.waitFor(({ d }) => d.userId === one.id && d.status === 'offline');
    await waitUntil(async () => (await online()) === 4, 'four are counted as online');
    expect(returningListeners.map(({ client }) => client.stats.connects > 1)).to.deep.equal([true, true]);

    for (const one of lost) await connect(otherNode, one);
    for (const recorder of observers)
      for (const one of lost) {
        await waitUntil(() => statusesReceived(recorder, one).length === 3, 'the lost accounts are online again');
        expect(statusesReceived(recorder, one)).to.deep.equal(['online', 'offline', 'online']);
      }
    for (const recorder of observers) for (const one of returning) expect(statusesReceived(recorder, one)).to.deep.equal(['online']);
    expect(await statuses([...lost, ...returning])).to.deep.equal(['online', 'online', 'online', 'online']);
  });
});
