import { expect } from 'chai';
import { refuse } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';
import type { Answer } from '../../harness/api.ts';
import { expectError } from '../../harness/expect-error.ts';
import { beforeNextQuery, interceptNext } from '../../harness/intercept.ts';
import { inParallel } from '../../harness/requests.ts';
import { startSeededApi } from '../../harness/seeded-api.ts';
import { use } from '../../harness/use.ts';

describe('Idempotency-Key', () => {
  const api = use(() => startSeededApi({ bots: 2, channels: 2 }));
  let count = 0;
  const freshKey = (): string => `key-${++count}`;

  const post = (key: string, body: unknown = { content: key }, more: { as?: string; path?: string } = {}): Promise<Answer> =>
    api.call('POST', more.path ?? api.path, { as: more.as ?? api.as, body, headers: { 'Idempotency-Key': key } });
  const stored = (content: string): Promise<number> => api.platform.db.messages.countDocuments({ content });
  const claims = () => api.platform.db.idempotency;
  /** Changes the stored claim of the create that made this message. */
  const changeClaim = async (messageId: unknown, fields: object): Promise<void> => {
    const message = await api.platform.db.messages.findOne({ _id: String(messageId) });
    const { modifiedCount } = await claims().updateOne({ resourceId: message?.createId ?? '' }, { $set: fields });
    expect(modifiedCount).to.equal(1);
  };

  it('the same key twice, also with the fields in another order, gets the first response again and makes one message', async () => {
    const key = freshKey();
    const first = await post(key, { content: key, mentionReply: false, nonce: 'n' });
    const second = await post(key, { nonce: 'n', mentionReply: false, content: key });
    expect(first.status).to.equal(201);
    expect(second.status).to.equal(201);
    expect(second.body).to.deep.equal(first.body);
    expect(second.headers.get('X-Request-Id')).not.to.equal(first.headers.get('X-Request-Id'));
    expect(await stored(key)).to.equal(1);
  });

  /** Makes 20 calls at once, and expects that they make one message. Returns the responses, and those of them that have the message. */
  const expectOneMade = async (key: string): Promise<[answers: Answer[], made: Answer[]]> => {
    const answers = await inParallel(20, () => post(key));
    expect(await stored(key)).to.equal(1);
    const made = answers.filter((one) => one.status === 201);
    expect(new Set(made.map((one) => one.body.id)).size).to.equal(1);
    return [answers, made];
  };

  it('20 calls at once make one message; each response is that message or 409', async () => {
    const key = freshKey();
    const [answers, made] = await expectOneMade(key);
    for (const { status, body } of answers) if (status !== 201) expect([status, body.code]).to.deep.equal([409, 'idempotency_conflict']);
    expect((await post(key)).body.id).to.equal(made[0]?.body.id);
  });

  it('409 for another body, and no message is made', async () => {
    const key = freshKey();
    await post(key);
    expectError(await post(key, { content: 'other' }), 409, 'idempotency_conflict');
    expect(await stored('other')).to.equal(0);
  });

  it('another caller, another channel or no key makes another message', async () => {
    const key = freshKey();
    await post(key);
    const answers = [
      await post(key, { content: key }, { as: `Bot ${api.seeded.bots[1]?.token}` }),
      await post(key, { content: key }, { path: `/api/channels/${api.seeded.channelIds[1]}/messages` }),
      await api.call('POST', api.path, { as: api.as, body: { content: key } }),
    ];
    expect(answers.map((one) => one.status)).to.deep.equal([201, 201, 201]);
    expect(await stored(key)).to.equal(4);
  });

  it('a refused call releases the key', async () => {
    const key = freshKey();
    const before = await claims().countDocuments();
    expect((await post(key, { content: '' })).status).to.equal(400);
    expect(await claims().countDocuments()).to.equal(before);
    expect((await post(key)).status).to.equal(201);
  });

  /** Stores the claim of a call that has not ended, made `ageMs` ago. */
  const storeClaim = async (key: string, ageMs: number): Promise<string> => {
    const { body } = await post(key);
    const id = String(body.id);
    await changeClaim(id, { answer: null, claimedAt: new Date(Date.now() - ageMs) });
    await api.platform.db.messages.deleteOne({ _id: id });
    return id;
  };

  it('409 while the first call runs, for up to 30 s', async () => {
    const key = freshKey();
    await storeClaim(key, limits.idempotencyTakeoverMs - 2_000);
    expectError(await post(key), 409, 'idempotency_conflict');
    expect(await stored(key)).to.equal(0);
  });

  it('201 after 30 s, with a new id above those of messages made meanwhile', async () => {
    const key = freshKey();
    const id = await storeClaim(key, limits.idempotencyTakeoverMs + 100);
    const { body: meanwhile } = await post(freshKey());
    const { status, body } = await post(key);
    expect(status).to.equal(201);
    expect(id < String(meanwhile.id) && String(meanwhile.id) < String(body.id)).to.equal(true);
    expect(await stored(key)).to.equal(1);
  });

  it('20 calls at once after 30 s make one message', async () => {
    const key = freshKey();
    await storeClaim(key, limits.idempotencyTakeoverMs + 100);
    await expectOneMade(key);
  });

  for (const [what, query, fields] of [
    ['after 30 s', 'updateOne', { claimedAt: new Date(0) }],
    ['after the key expired', 'replaceOne', { expiresAt: new Date(0) }],
  ] as const)
    it(`409 ${what} if another call takes the key over at the same moment`, async () => {
      const key = freshKey();
      const { body: first } = await post(key);
      const message = await api.platform.db.messages.findOneAndDelete({ _id: String(first.id) });
      const changeHolder = (change: object) => claims().updateOne({ resourceId: message?.createId ?? '' }, { $set: change });
      await changeHolder({ answer: null, ...fields });
      const now = Date.now();
      beforeNextQuery(claims(), query, () =>
        changeHolder({ holder: 'another call', claimedAt: new Date(now), expiresAt: new Date(now + 60_000) }),
      );
      expectError(await post(key), 409, 'idempotency_conflict');
      expect(await stored(key)).to.equal(0);
    });

  it('a repeated call returns the message that a crashed call stored', async () => {
    const key = freshKey();
    const { body: first } = await post(key);
    await changeClaim(first.id, { answer: null, claimedAt: new Date(0) });
    const { status, body } = await post(key);
    expect([status, body.id]).to.deep.equal([201, first.id]);
    expect(await stored(key)).to.equal(1);
  });

  it('a repeated call that is refused does not release the key of a call that may have stored a message', async () => {
    const key = freshKey();
    const { body: first } = await post(key);
    await changeClaim(first.id, { answer: null, claimedAt: new Date(0) });
    interceptNext(api.platform.db.messages, 'insertOne', async () => refuse('unavailable'));
    expect((await post(key)).status).to.equal(503);
    expect((await post(key)).body.id).to.equal(first.id);
    expect(await stored(key)).to.equal(1);
  });

  it('a repeated call returns the message that a call stored before it failed with 500', async () => {
    const key = freshKey();
    interceptNext(api.platform.db.messages, 'insertOne', async (insert) => {
      await insert();
      throw new Error('unexpected');
    });
    expect((await post(key)).status).to.equal(500);
    expect((await post(key)).status).to.equal(201);
    expect(await stored(key)).to.equal(1);
  });

  it('an expired key can be used again, also before the database deletes it', async () => {
    const key = freshKey();
    const { body: first } = await post(key);
    await changeClaim(first.id, { expiresAt: new Date(Date.now() - 1) });
    const { status, body } = await post(key);
    expect(status).to.equal(201);
    expect(body.id).not.to.equal(first.id);
  });

  it('201 for a key of 64 characters, 400 for 65', async () => {
    expect((await post('k'.repeat(64))).status).to.equal(201);
    expectError(await post('k'.repeat(65)), 400, 'invalid_request');
    expect(await stored('k'.repeat(65))).to.equal(0);
  });

  it('routes that create nothing ignore the key', async () => {
    const key = freshKey();
    const { body } = await post(key);
    const edit = (content: string) =>
      api.call('PATCH', `${api.path}/${String(body.id)}`, { as: api.as, body: { content }, headers: { 'Idempotency-Key': key } });
    expect((await edit('a')).body.content).to.equal('a');
    expect((await edit('b')).body.content).to.equal('b');
  });

  it('a stored response with secrets is encrypted', async () => {
    const send = () =>
      api.call('POST', '/api/applications', {
        as: `Bearer ${api.seeded.ownerToken}`,
        body: { name: 'secret keeper' },
        headers: { 'Idempotency-Key': 'secret' },
      });
    const first = await send();
    expect(first.status).to.equal(201);
    expect((await send()).body).to.deep.equal(first.body);
    const kept = JSON.stringify(await api.platform.db.idempotency.find().toArray());
    for (const secret of [first.body.token, first.body.signingSecret]) expect(kept).not.to.contain(String(secret));
  });
});
