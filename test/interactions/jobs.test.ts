import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { permissionBits } from '../../lib/base/permissions.ts';
import { expireUnanswered, sweepInteractions } from '../../lib/domain/jobs/interactions.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import type { InteractionDoc } from '../../lib/store/mongo/models/interaction.ts';
import { accountPlace } from '../../lib/store/redis/log/keys.ts';
import { handlers as all } from '../../workers/handlers.ts';
import { setOverwrite } from '../harness/factories.ts';
import { startInteractionFixture, waitUntil } from '../harness/interaction-fixture.ts';
import { entriesOf } from '../harness/log.ts';
import { use } from '../harness/use.ts';

describe('Interaction: jobs', () => {
  const fixture = use(startInteractionFixture, { each: true });

  const runRelay = (id: string): Promise<void> => relayEvents(fixture.worker, 'interaction', id);
  const expire = (id: string): Promise<number | null> => expireUnanswered(fixture.worker, id);
  const deny = (bits: number) => setOverwrite(fixture.api, fixture.person, fixture.channelId, fixture.bot.id, 0, bits);

  describe('relay-interaction', () => {
    it('sends the interaction to the bot once, without its token', async () => {
      const options = [{ name: 'text', description: 'x' }];
      await fixture.register([{ name: 'hello', description: 'x', options }]);
      const id = await fixture.use({ body: { text: '$answer' } });
      await runRelay(id);
      const owner = (await fixture.api.platform.db.accounts.findOne({ _id: fixture.seeded.ownerId })) ?? expect.fail();
      const { _id, username, displayName, avatarUrl } = owner;
      expect(await fixture.botEvents()).to.deep.equal([
        {
          name: 'INTERACTION_CREATE',
          data: {
            type: 'command',
            id,
            applicationId: fixture.bot.applicationId,
            channelId: fixture.channelId,
            serverId: fixture.seeded.serverId,
            user: { id: _id, username, displayName, avatarUrl, roles: [] },
            data: { id: fixture.commands.hello, name: 'hello', options: [{ name: 'text', type: 'string', value: '$answer' }] },
          },
        },
      ]);
      const stored = await fixture.stored(id);
      expect([stored.outbox, stored.outboxAt]).to.deep.equal([undefined, undefined]);
      await fixture.expectNoChange(() => runRelay(id));
      expect(fixture.personal).to.deep.equal([]);
    });

    it('sends the interaction once when the job is repeated before the outbox was cleared', async () => {
      const id = await fixture.use();
      const { outbox, outboxAt } = (await fixture.stored(id)) as Required<InteractionDoc>;
      await runRelay(id);
      await fixture.api.platform.db.interactions.updateOne({ _id: id }, { $set: { outbox, outboxAt } });
      await runRelay(id);
      expect(await fixture.botEvents()).to.have.length(1);
      await fixture.expectNoChange(() => runRelay(id));
    });

    it('three jobs in parallel send the interaction once', async () => {
      const id = await fixture.use();
      await Promise.all([runRelay(id), runRelay(id), runRelay(id)]);
      expect(await fixture.botEvents()).to.have.length(1);
    });

    it('sends the interaction only to the newest session', async () => {
      await fixture.connect();
      const id = await fixture.use();
      await runRelay(id);
      expect((await fixture.botEvents()).map(({ data }) => data.id)).to.deep.equal([id]);
      const logged = await entriesOf(fixture.worker.config, accountPlace(fixture.bot.id));
      expect(logged.map(({ head }) => head.onlySession)).to.deep.equal(['session-2']);
    });

    it('sends nothing to a bot that has disconnected or cannot view the channel', async () => {
      const [gone, hidden] = [await fixture.use(), await fixture.use()];
      await deny(permissionBits['View Channel']);
      await runRelay(hidden);
      expect(await fixture.botEvents()).to.deep.equal([]);
      await deny(0);
      await fixture.disconnect();
      await runRelay(gone);
      for (const id of [gone, hidden]) {
        const { state, outbox, outboxAt } = await fixture.stored(id);
        expect([state, outbox, outboxAt]).to.deep.equal(['created', undefined, undefined]);
        await fixture.expectNoChange(() => runRelay(id));
      }
    });

    it('skips an unknown interaction', () => runRelay(fixture.seeded.serverId));
  });

  describe('expire-interaction', () => {
    it('expires an unanswered interaction; a repeat changes nothing, nor does the job of an unknown one', async () => {
      const id = await fixture.use();
      await fixture.age(id, 3_000);
      await expire(id);
      expect((await fixture.stored(id)).state).to.equal('expired');
      for (const one of [id, fixture.seeded.serverId]) await fixture.expectNoChange(() => expire(one));
    });

    for (const [what, body] of Object.entries({ message: { type: 'message', content: 'hi' }, defer: { type: 'defer' } }))
      it(`is removed by the first answer: ${what}`, async () => {
        const id = await fixture.use();
        const isQueued = () => fixture.worker.jobs.isQueued('expire-interaction', { interactionId: id });
        await waitUntil(isQueued, 'the job');
        expect((await fixture.send('callback', id, body)).status).to.be.within(200, 204);
        await waitUntil(async () => !(await isQueued()), 'no job');
      });

    it('asks to be run again when it runs before the 3 seconds are over', async () => {
      const id = await fixture.use();
      await fixture.age(id, -10_000);
      expect(await expire(id)).to.be.within(3_000, 13_000);
      expect((await fixture.stored(id)).state).to.equal('created');
    });
  });

  describe('in running queues', () => {
    it('the queue waits for an expire job in milliseconds, not in whole seconds', async () => {
      const { REDIS_URL, REDIS_PREFIX } = fixture.worker.config;
      // Uses a plain socket: on a busy Redis the client fails when a monitored command comes before the reply.
      const { port, password } = new URL(REDIS_URL);
      const monitor = connect(Number(port));
      const lines: string[] = [];
      createInterface(monitor).on('line', (line) => lines.push(line));
      monitor.write(`AUTH ${password || 'none'}\r\nMONITOR\r\n`);
      await waitUntil(() => lines.length >= 2, 'both replies');
      const ran: string[] = [];
      const handlers = {
        ...all,
        'expire-interaction': async (_worker: unknown, { interactionId: id }: { interactionId: string }) => void ran.push(id),
      };
      const consumers = fixture.worker.startConsumers(handlers, () => undefined);
      try {
        const ids = Array.from({ length: 3 }, () => fixture.worker.ids.next());
        for (const interactionId of ids) await fixture.worker.jobs.enqueue('expire-interaction', { interactionId });
        await waitUntil(() => ran.length === ids.length, 'the jobs');
      } finally {
        await consumers.close();
        monitor.destroy();
      }
      // For a Redis of unknown version the queue would wait for whole seconds, and a job could be up to a second late.
      const wait = new RegExp(`"bzpopmin" "{${REDIS_PREFIX}-queue-interactions}:interactions:[^"]*" "([^"]*)"`, 'i');
      const waits = lines.flatMap((line) => wait.exec(line)?.[1] ?? []).map(Number);
      expect(waits.filter((seconds) => !Number.isInteger(seconds))).not.to.deep.equal([]);
    });

    it('a job that runs early is delayed, and the person receives `expired` once', async () => {
      const failed: string[] = [];
      const consumers = fixture.worker.startConsumers(all, (job, outcome) => void (outcome === 'failed' && failed.push(job)));
      try {
        const id = await fixture.use();
        await fixture.age(id, -700);
        await waitUntil(() => fixture.personal.length > 0, 'INTERACTION_UPDATE');
        const { state, createdAt } = await fixture.stored(id);
        expect(state).to.equal('expired');
        expect(Date.now() - createdAt.getTime()).to.be.greaterThan(2_900);
        expect((await fixture.botEvents()).map(({ data }) => data.id)).to.deep.equal([id]);
        expect(failed).to.deep.equal([]);
      } finally {
        await consumers.close();
      }
      expect(fixture.personal).to.have.length(1);
    });
  });

  describe('sweep', () => {
    it('leaves recent interactions to the jobs', async () => {
      await fixture.use();
      await fixture.expectNoChange(() => sweepInteractions(fixture.worker));
    });

    it('relays events that are pending for more than 2 s, and expires unanswered interactions', async () => {
      const [pending, unanswered, answered] = [await fixture.use(), await fixture.use(), await fixture.use()];
      await fixture.send('callback', answered, { type: 'message', content: 'x' });
      await fixture.age(pending, 2_000, 'outboxAt');
      await fixture.age(answered, 2_000, 'outboxAt');
      await runRelay(unanswered);
      await fixture.age(unanswered, 3_000);
      await sweepInteractions(fixture.worker);
      expect((await fixture.botEvents()).map(({ data }) => data.id)).to.deep.equal([unanswered, pending]);
      await waitUntil(() => fixture.personal.length === 2, 'both states');
      expect(fixture.personal.map(({ data }) => [data.id, data.state])).to.have.deep.members([
        [unanswered, 'expired'],
        [answered, 'answered'],
      ]);
      for (const id of [pending, unanswered, answered]) expect((await fixture.stored(id)).outbox).to.equal(undefined);
      await fixture.expectNoChange(() => sweepInteractions(fixture.worker));
    });
  });
});
