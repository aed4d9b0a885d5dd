import { expect } from 'chai';
import { sweepInteractions } from '../../lib/domain/jobs/interactions.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { startInteractionFixture, waitUntil } from '../harness/interaction-fixture.ts';
import { sendFatal, useOwnProcess } from '../harness/own-process.ts';
import { use } from '../harness/use.ts';

describe('Interaction: an api process killed between its write and the enqueue', () => {
  const fixture = use(startInteractionFixture);
  const start = useOwnProcess(() => fixture.api.platform.config);
  /** Uses the command in a process that dies after it has stored the interaction. */
  const useFatally = async (): Promise<string> => {
    const path = `/api/channels/${fixture.channelId}/commands/${fixture.commands.hello}/invoke`;
    await sendFatal(await start('api', 'after-invoke-write'), fixture.asPerson, 'POST', path, {});
    const [interaction] = await fixture.api.platform.db.interactions.find({ state: 'created' }).toArray();
    return String(interaction?._id);
  };
  const expectSweepChangesNothing = () => fixture.expectNoChange(() => sweepInteractions(fixture.worker));
  const messagesOf = async (id: string) => (await fixture.messages()).filter(({ interaction }) => interaction?.id === id);

  it('the sweep sends a stored interaction to the bot, which can answer it', async () => {
    const id = await useFatally();
    // The test sets the age: pending for 2 s, with most of the 3 s left.
    await fixture.api.platform.db.interactions.updateOne({ _id: id }, [
      { $set: { createdAt: '$$NOW', outboxAt: { $subtract: ['$$NOW', 2_000] } } },
    ]);
    await sweepInteractions(fixture.worker);
    expect((await fixture.botEvents()).map(({ data }) => data.id)).to.deep.equal([id]);
    await expectSweepChangesNothing();
    expect((await fixture.send('callback', id, { type: 'message', content: 'x' })).status).to.equal(201);
    await relayEvents(fixture.worker, 'interaction', id); // otherwise a later sweep finds its event overdue
  });

  it('the sweep expires an unanswered interaction, and the person receives it', async () => {
    const id = await useFatally();
    const known = (await fixture.botEvents()).length;
    await fixture.age(id, 3_000);
    await sweepInteractions(fixture.worker);
    const received = () => fixture.personal.map(({ data }) => data).filter((data) => data.id === id);
    await waitUntil(() => received().length > 0, 'INTERACTION_UPDATE');
    expect(received()).to.deep.equal([{ id, channelId: fixture.channelId, state: 'expired' }]);
    expect(await fixture.botEvents()).to.have.length(known);
    await expectSweepChangesNothing();
  });

  it('the sweep posts the message of a decided answer once; the caller can repeat the request', async () => {
    const child = await start('api', 'after-answer-write');
    const id = await fixture.use();
    const path = `/api/interactions/${id}/${fixture.tokenOf(id)}/callback`;
    const body = { type: 'message', content: '$answer' };
    const headers = { 'Idempotency-Key': 'crash' };
    await sendFatal(child, null, 'POST', path, body, headers);
    const { state, answer } = await fixture.stored(id);
    expect([state, answer?.content]).to.deep.equal(['answered', '$answer']);
    expect(await messagesOf(id)).to.deep.equal([]);
    await fixture.age(id, 2_000, 'outboxAt');
    await sweepInteractions(fixture.worker);
    const posted = await messagesOf(id);
    expect(posted.map(({ content }) => content)).to.deep.equal(['$answer']);
    const messageId = posted[0]?._id;
    expect(await fixture.stored(id))
      .to.include({ messageId })
      .and.not.to.have.property('answer');
    await expectSweepChangesNothing();
    expect((await fixture.send('callback', id, body)).body.code).to.equal('already_answered');
    // A repeat takes the key over 30 s after the first request was interrupted (docs/behavior/requests.md#idempotency).
    await fixture.api.platform.db.idempotency.updateMany({}, { $set: { claimedAt: new Date(0) } });
    const again = await fixture.send('callback', id, body, headers);
    expect([again.status, again.body.id]).to.deep.equal([201, messageId]);
    expect(await messagesOf(id)).to.have.length(1);
  });
});
