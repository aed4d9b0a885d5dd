import { expect } from 'chai';
import { type Caller, makeMember, makePerson, makeServer, type Place, send } from '../harness/factories.ts';
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
});
