import { expect } from 'chai';
import type { Sync } from '../../lib/contract/sync.ts';
import { takeSnapshot } from '../gateway/rollback.ts';
import { makeServer, postMessage } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type EventRecorder, recordEvents, startParlance, waitForAll } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { newMember, useServer } from '../harness/use.ts';

describe('READ_UPDATE', () => {
  const { api: parlance, owner, server, other } = useServer({ other: newMember() }, { start: startParlance });

  const post = async (as: Caller): Promise<string> => (await postMessage(parlance, as, server.general)).id;
  const marks = (recorder: EventRecorder): unknown[] => recorder.received.filter(({ t }) => t === 'READ_UPDATE').map(({ d }) => d);

  it('reaches only the sessions of the person, once for each move of the mark', async () => {
    const recorders = await Promise.all([owner, owner, other].map((one) => recordEvents(parlance, one.token)));
    const [first, second] = [await post(other), await post(other)];
    const path = `/api/channels/${server.general}/read`;
    await send(parlance, 204, owner, 'PUT', path, { messageId: second });
    const moved = { channelId: server.general, messageId: second };
    await waitForAll(recorders.slice(0, 2), ({ t }) => t === 'READ_UPDATE');
    for (const messageId of [first, second]) await send(parlance, 204, owner, 'PUT', path, { messageId });
    const last = await post(other);
    await send(parlance, 204, owner, 'PUT', path, { messageId: last });
    await waitForAll(recorders.slice(0, 2), ({ t, d }) => t === 'READ_UPDATE' && d.messageId === last);
    expect(recorders.map(marks)).to.deep.equal([[moved, { ...moved, messageId: last }], [moved, { ...moved, messageId: last }], []]);
    await Promise.all(recorders.map(({ client }) => client.close()));
  });

  it('the last message of a channel is correct after Redis lost its last writes', async () => {
    const { REDIS_URL, REDIS_PREFIX } = parlance.platform.config;
    await post(other);
    const snapshot = await takeSnapshot(REDIS_URL, REDIS_PREFIX);
    const recorder = await recordEvents(parlance, owner.token);
    const lastMessageId = await post(other);
    await recorder.waitFor(({ t, d }) => t === 'MESSAGE_CREATE' && d.id === lastMessageId);
    await snapshot.restore();
    const elsewhere = await makeServer(parlance, owner);
    await postMessage(parlance, owner, elsewhere.general);
    await waitUntil(() => recorder.client.stats.invalidated > 0, 'op 9');
    const { reads } = await send<Sync>(parlance, 200, owner, 'GET', '/api/users/@me/sync');
    expect(reads.find(({ channelId }) => channelId === server.general)?.lastMessageId).to.equal(lastMessageId);
  });
});
