import { expect } from 'chai';
import type { DiscoveryPage } from '../../lib/contract/discovery.ts';
import type { Member } from '../../lib/contract/member.ts';
import { startTestApi } from '../harness/api.ts';
import { makeBot, makeMember } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type EventRecorder, recordEvents } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { startStack } from '../harness/stack.ts';
import { use, useServer } from '../harness/use.ts';
import { storesOf } from '../operator/run-operator.ts';

describe('presence after a gateway node was killed', () => {
  const { api, owner, server } = useServer({}, { start: () => startTestApi({ RATE_LIMIT: 'off' }) });
  const stack = use(() => {
    const { config } = api.platform;
    const env = { ...storesOf(config), FILES_DIR: config.FILES_DIR, RATE_LIMIT: 'off', LOG_LEVEL: 'warn' };
    return startStack({ api: 0, gateway: 2, worker: 1 }, env);
  });
  const recorders: EventRecorder[] = [];
  before(async () => {
    const at = `/api/servers/${server.id}`;
    await send(api, 200, owner, 'PUT', `${at}/community`, { enabled: true, rulesChannelId: 'new', updatesChannelId: 'new' });
    await send(api, 200, owner, 'PUT', `${at}/discovery`, { listed: true, description: 'here' });
  });
  after(() => Promise.all(recorders.map((recorder) => recorder.client.close())));

  it('shows bots and people of the node as offline, except those that reconnect to another node in time', async () => {
    const [lost, returning] = [
      [await makeBot(api, owner, server.id), await makeMember(api, owner, server.id)],
      [await makeBot(api, owner, server.id), await makeMember(api, owner, server.id)],
    ];
    const listener = await makeBot(api, owner, server.id);
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
      const members = await send<Member[]>(api, 200, owner, 'GET', `/api/servers/${server.id}/members`);
      return who.map(({ id }) => members.find(({ user }) => user.id === id)?.status);
    };
    const online = async (): Promise<number | undefined> =>
      (await send<DiscoveryPage>(api, 200, owner, 'GET', '/api/discovery/servers')).items.find(({ id }) => id === server.id)?.onlineCount;
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
