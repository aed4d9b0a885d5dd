import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { sweepInteractions } from '../../lib/domain/interactions/interaction-sweeps.ts';
import { type OwnProcess, startOwn } from '../harness/own-process.ts';
import { type Scene, startScene, until } from '../harness/scene.ts';

describe('Interaction: an api process killed between write and enqueue', function () {
  this.timeout(180_000); // a process starts in each
  let scene: Scene;
  let child: OwnProcess;
  before(async () => {
    scene = await startScene();
  });
  after(() => scene.close());
  afterEach(() => {
    child.kill();
  });

  /** An api process of its own over the same stores, that dies at `failpoint`. */
  const startChild = async (failpoint: Failpoint): Promise<void> => {
    child = await startOwn('api', scene.api.platform.config, { failpoint });
  };
  /** Sends a request to the process that dies of it. */
  const lastWords = async (path: string, body: unknown, headers: Record<string, string> = {}): Promise<void> => {
    const died = child.ended;
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(body) };
    const answered = await fetch(child.url + path, init).then(
      (response) => response.status,
      () => null,
    );
    expect(answered).to.equal(null);
    const [, signal] = (await died) as [number | null, string | null];
    expect(signal).to.equal('SIGKILL');
  };
  const sweepAgain = async (): Promise<void> => {
    const before = await scene.snapshot();
    await sweepInteractions(scene.worker);
    expect(await scene.snapshot()).to.equal(before);
  };

  it('the use of a command stands, the sweep tells the bot, and it can answer', async () => {
    await startChild('after-invoke-write');
    await lastWords(`/api/channels/${scene.channelId}/commands/${scene.commands.hello}/invoke`, {}, { Authorization: scene.asPerson });
    const [interaction] = await scene.api.platform.db.interactions.find({ state: 'created' }).lean();
    const id = String(interaction?._id);
    // Its age is set, not waited for: owed for 2 s, with most of the 3 s left.
    await scene.api.platform.db.interactions.collection.updateOne({ _id: id as never }, [
      { $set: { createdAt: '$$NOW', obAt: { $subtract: ['$$NOW', 2_000] } } },
    ]);
    await sweepInteractions(scene.worker);
    expect((await scene.botEvents()).map(({ data }) => data.id)).to.deep.equal([id]);
    await sweepAgain();
    expect((await scene.send('callback', id, { type: 'message', content: 'x' })).status).to.equal(201);
  });

  it('without an answer the sweep ends it, and the person is told', async () => {
    await startChild('after-invoke-write');
    await lastWords(`/api/channels/${scene.channelId}/commands/${scene.commands.hello}/invoke`, {}, { Authorization: scene.asPerson });
    const [interaction] = await scene.api.platform.db.interactions.find({ state: 'created' }).lean();
    const id = String(interaction?._id);
    const known = (await scene.botEvents()).length;
    await scene.age(id, 3_000);
    await sweepInteractions(scene.worker);
    const told = () => scene.personal.map(({ data }) => data).filter((data) => data.id === id);
    await until(() => told().length > 0, 'INTERACTION_UPDATE');
    expect(told()).to.deep.equal([{ id, channelId: scene.channelId, state: 'expired' }]);
    expect(await scene.botEvents()).to.have.length(known);
    await sweepAgain();
  });

  it('a decided answer gets its message from the sweep, once; the caller may take the request up again', async () => {
    await startChild('after-answer-write');
    const id = await scene.use();
    const path = `/api/interactions/${id}/${scene.tokenOf(id)}/callback`;
    const body = { type: 'message', content: '$answer' };
    const headers = { 'Idempotency-Key': 'crash' };
    await lastWords(path, body, headers);
    const { state, answer } = await scene.stored(id);
    expect([state, answer?.content]).to.deep.equal(['answered', '$answer']);
    expect((await scene.messages()).filter(({ interaction }) => interaction?.id === id)).to.deep.equal([]);
    await scene.age(id, 2_000, 'obAt');
    await sweepInteractions(scene.worker);
    const standing = (await scene.messages()).filter(({ interaction }) => interaction?.id === id);
    expect(standing.map(({ content }) => content)).to.deep.equal(['$answer']);
    const messageId = standing[0]?._id;
    expect(await scene.stored(id))
      .to.include({ messageId })
      .and.not.to.have.property('answer');
    await sweepAgain();
    expect((await scene.send('callback', id, body)).body.code).to.equal('already_answered');
    // A repeat takes the key over 30 s after the first request was interrupted (docs/behavior/requests.md#idempotency).
    await scene.api.platform.db.idempotency.updateMany({}, { $set: { claimedAt: new Date(0) } });
    const again = await scene.send('callback', id, body, headers);
    expect([again.status, again.body.id]).to.deep.equal([201, messageId]);
    expect((await scene.messages()).filter(({ interaction }) => interaction?.id === id)).to.have.length(1);
  });
});
