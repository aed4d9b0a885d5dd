import { expect } from 'chai';
import type { Sync } from '../../lib/contract/sync.ts';
import { takeSnapshot } from '../gateway/rollback.ts';
import { type Caller, makeMember, makePerson, makeServer, type Place, send } from '../harness/factories.ts';
import { until } from '../harness/scene.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

describe('READ_UPDATE', () => {
  let whole: Whole;
  let owner: Caller;
  let other: Caller;
  let server: Place;

  before(async () => {
    whole = await startWhole({ RATE_LIMIT: 'off' });
    owner = await makePerson(whole);
    server = await makeServer(whole, owner);
    other = await makeMember(whole, owner, server.id);
  });
  after(() => whole.close());

  const post = async (as: Caller): Promise<string> =>
    (await send<{ id: string }>(whole, 201, as, 'POST', `/api/channels/${server.general}/messages`, { content: 'x' })).id;
  const marks = (ear: Ear): unknown[] => ear.heard.filter(({ t }) => t === 'READ_UPDATE').map(({ d }) => d);

  it('reaches every session of the person and nobody else, once for each move of the mark', async () => {
    const ears = await Promise.all([owner, owner, other].map((one) => listenAs(whole, one.token)));
    const [first, second] = [await post(other), await post(other)];
    const path = `/api/channels/${server.general}/read`;
    await send(whole, 204, owner, 'PUT', path, { messageId: second });
    const moved = { channelId: server.general, messageId: second };
    await Promise.all(ears.slice(0, 2).map((ear) => ear.hears(({ t }) => t === 'READ_UPDATE')));
    for (const messageId of [first, second]) await send(whole, 204, owner, 'PUT', path, { messageId });
    const last = await post(other);
    await send(whole, 204, owner, 'PUT', path, { messageId: last });
    await Promise.all(ears.slice(0, 2).map((ear) => ear.hears(({ t, d }) => t === 'READ_UPDATE' && d.messageId === last)));
    expect(ears.map(marks)).to.deep.equal([[moved, { ...moved, messageId: last }], [moved, { ...moved, messageId: last }], []]);
    await Promise.all(ears.map(({ client }) => client.close()));
  });

  it('the newest message of a channel is right after Redis lost its last writes', async () => {
    const { REDIS_URL, REDIS_PREFIX } = whole.platform.config;
    await post(other);
    const snapshot = await takeSnapshot(REDIS_URL, REDIS_PREFIX);
    const ear = await listenAs(whole, owner.token);
    const lastMessageId = await post(other);
    await ear.hears(({ t, d }) => t === 'MESSAGE_CREATE' && d.id === lastMessageId);
    await snapshot.restore();
    const elsewhere = await makeServer(whole, owner);
    await send(whole, 201, owner, 'POST', `/api/channels/${elsewhere.general}/messages`, { content: 'x' });
    await until(() => ear.client.stats.invalidated > 0, 'op 9');
    const { reads } = await send<Sync>(whole, 200, owner, 'GET', '/api/users/@me/sync');
    expect(reads.find(({ channelId }) => channelId === server.general)?.lastMessageId).to.equal(lastMessageId);
  });
});
