import { expect } from 'chai';
import { limits } from '../../../lib/base/limits.ts';
import { type Answer, startTestApi, type TestApi } from '../../harness/api.ts';
import { makeWorld, type World } from '../../harness/world.ts';

describe('Idempotency-Key', () => {
  let api: TestApi;
  let world: World;
  let as: string;
  let path: string;
  let count = 0;
  const freshKey = (): string => `key-${++count}`;

  before(async () => {
    api = await startTestApi();
    world = await makeWorld(api.platform, { bots: 2, channels: 2 });
    as = `Bot ${world.bots[0]?.token}`;
    path = `/api/channels/${world.channelIds[0]}/messages`;
  });
  after(() => api.close());

  const post = (key: string, body: unknown = { content: key }, more: { as?: string; path?: string } = {}): Promise<Answer> =>
    api.call('POST', more.path ?? path, { as: more.as ?? as, body, headers: { 'Idempotency-Key': key } });
  const stored = (content: string): Promise<number> => api.platform.db.messages.countDocuments({ content });
  const claims = () => api.platform.db.idempotency;
  /** Changes the claim of the create that made this message. */
  const changeClaim = async (messageId: unknown, fields: object): Promise<void> => {
    const message = await api.platform.db.messages.findOne({ _id: String(messageId) }).lean();
    const { modifiedCount } = await claims().updateOne({ resourceId: message?.createId ?? '' }, { $set: fields });
    expect(modifiedCount).to.equal(1);
  };

  it('the same key twice: the first answer again, and one message', async () => {
    const key = freshKey();
    const first = await post(key);
    const second = await post(key);
    expect(first.status).to.equal(201);
    expect(second.status).to.equal(201);
    expect(second.body).to.deep.equal(first.body);
    expect(second.headers.get('X-Request-Id')).not.to.equal(first.headers.get('X-Request-Id'));
    expect(await stored(key)).to.equal(1);
  });

  it('20 at once: one message; each answer is it or 409', async () => {
    const key = freshKey();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(key)));
    expect(await stored(key)).to.equal(1);
    const made = answers.filter((one) => one.status === 201);
    expect(made.length).to.be.greaterThan(0);
    expect(new Set(made.map((one) => one.body.id)).size).to.equal(1);
    for (const { status, body } of answers) if (status !== 201) expect([status, body.code]).to.deep.equal([409, 'idempotency_conflict']);
    expect((await post(key)).body.id).to.equal(made[0]?.body.id);
  });

  it('the order of the fields does not make another body', async () => {
    const key = freshKey();
    const first = await post(key, { content: key, mentionReply: false, nonce: 'n' });
    const second = await post(key, { nonce: 'n', mentionReply: false, content: key });
    expect(second.body).to.deep.equal(first.body);
  });

  it('409 with another body, and nothing is made', async () => {
    const key = freshKey();
    await post(key);
    const other = await post(key, { content: 'other' });
    expect([other.status, other.body.code]).to.deep.equal([409, 'idempotency_conflict']);
    expect(await stored('other')).to.equal(0);
  });

  it('another caller, another channel and no key are not the same call', async () => {
    const key = freshKey();
    await post(key);
    const answers = [
      await post(key, { content: key }, { as: `Bot ${world.bots[1]?.token}` }),
      await post(key, { content: key }, { path: `/api/channels/${world.channelIds[1]}/messages` }),
      await api.call('POST', path, { as, body: { content: key } }),
    ];
    expect(answers.map((one) => one.status)).to.deep.equal([201, 201, 201]);
    expect(await stored(key)).to.equal(4);
  });

  it('a refusal frees the key', async () => {
    const key = freshKey();
    const before = await claims().countDocuments();
    expect((await post(key, { content: '' })).status).to.equal(400);
    expect(await claims().countDocuments()).to.equal(before);
    expect((await post(key)).status).to.equal(201);
  });

  /** Puts a claim in place as a call that has not ended left it, made so long ago. */
  const claimed = async (key: string, ageMs: number): Promise<string> => {
    const { body } = await post(key);
    const id = String(body.id);
    await changeClaim(id, { answer: null, claimedAt: new Date(Date.now() - ageMs) });
    await api.platform.db.messages.deleteOne({ _id: id });
    return id;
  };

  it('409 while the first call runs, up to 30 s', async () => {
    const key = freshKey();
    await claimed(key, limits.idempotencyTakeoverMs - 2_000);
    const { status, body } = await post(key);
    expect([status, body.code]).to.deep.equal([409, 'idempotency_conflict']);
    expect(await stored(key)).to.equal(0);
  });

  it('after 30 s it is taken over, under an id of now: no reader that went on misses it', async () => {
    const key = freshKey();
    const id = await claimed(key, limits.idempotencyTakeoverMs + 100);
    const { body: meanwhile } = await post(freshKey());
    const { status, body } = await post(key);
    expect(status).to.equal(201);
    expect(id < String(meanwhile.id) && String(meanwhile.id) < String(body.id)).to.equal(true);
    expect(await stored(key)).to.equal(1);
  });

  it('20 that take over at once: one message', async () => {
    const key = freshKey();
    await claimed(key, limits.idempotencyTakeoverMs + 100);
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(key)));
    const made = answers.filter((one) => one.status === 201);
    expect(made.length).to.be.greaterThan(0);
    expect(new Set(made.map((one) => one.body.id)).size).to.equal(1);
    expect(await stored(key)).to.equal(1);
  });

  it('taken over after the message was stored but not answered: that message is answered', async () => {
    const key = freshKey();
    const { body: first } = await post(key);
    await changeClaim(first.id, { answer: null, claimedAt: new Date(0) });
    const { status, body } = await post(key);
    expect([status, body.id]).to.deep.equal([201, first.id]);
    expect(await stored(key)).to.equal(1);
  });

  it('after 10 minutes the key is free, before the database has cleaned up too', async () => {
    const key = freshKey();
    const { body: first } = await post(key);
    await changeClaim(first.id, { expiresAt: new Date(Date.now() - 1) });
    const { status, body } = await post(key);
    expect(status).to.equal(201);
    expect(body.id).not.to.equal(first.id);
  });

  it('64 characters pass, 65 are 400', async () => {
    expect((await post('k'.repeat(64))).status).to.equal(201);
    const { status, body } = await post('k'.repeat(65));
    expect([status, body.code]).to.deep.equal([400, 'invalid_request']);
    expect(await stored('k'.repeat(65))).to.equal(0);
  });

  it('routes that make nothing ignore it', async () => {
    const key = freshKey();
    const { body } = await post(key);
    const edit = (content: string) =>
      api.call('PATCH', `${path}/${String(body.id)}`, { as, body: { content }, headers: { 'Idempotency-Key': key } });
    expect((await edit('a')).body.content).to.equal('a');
    expect((await edit('b')).body.content).to.equal('b');
  });

  it('the answer that holds a secret is kept encrypted', async () => {
    const send = () =>
      api.call('POST', '/api/applications', {
        as: `Bearer ${world.ownerToken}`,
        body: { name: 'secret keeper' },
        headers: { 'Idempotency-Key': 'secret' },
      });
    const first = await send();
    expect(first.status).to.equal(201);
    expect((await send()).body).to.deep.equal(first.body);
    const kept = JSON.stringify(await api.platform.db.idempotency.find().lean());
    for (const secret of [first.body.token, first.body.signingSecret]) expect(kept).not.to.contain(String(secret));
  });
});
