import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { relay } from '../../lib/domain/events/relay.ts';
import { sweepInteractions } from '../../lib/domain/interactions/interaction-sweeps.ts';
import { Later } from '../../lib/store/queue/queue.ts';
import { accountPlace } from '../../lib/store/redis/log/keys.ts';
import { expireInteractionJob } from '../../workers/expire-interaction.ts';
import { handlers as all } from '../../workers/handlers.ts';
import { entriesOf } from '../harness/log.ts';
import { type Scene, startScene, until } from '../harness/scene.ts';

describe('Interaction: jobs', () => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await startScene();
  });
  afterEach(() => scene.close());

  const deliver = (id: string): Promise<void> => relay(scene.worker, 'interaction', id);
  const expire = (id: string): Promise<void> => expireInteractionJob(scene.worker, { interactionId: id });
  const access = <T>(write: () => Promise<T>): Promise<T> =>
    scene.api.platform.versions.changing({ servers: [scene.world.serverId] }, write);
  /** Runs `job` again and expects the same database and stream. */
  const sameAgain = async (job: () => Promise<void>): Promise<void> => {
    const before = await scene.snapshot();
    await job();
    expect(await scene.snapshot()).to.equal(before);
  };

  describe('relay-interaction', () => {
    it('hands the interaction to the bot, without its token; twice is once', async () => {
      const options = [{ name: 'text', description: 'x' }];
      await scene.register([{ name: 'hello', description: 'x', options }]);
      const id = await scene.use({ body: { text: '$answer' } });
      await deliver(id);
      const owner = (await scene.api.platform.db.accounts.findOne({ _id: scene.world.ownerId }).lean()) ?? expect.fail();
      const { _id, username, displayName, avatarUrl } = owner;
      expect(await scene.botEvents()).to.deep.equal([
        {
          name: 'INTERACTION_CREATE',
          data: {
            type: 'command',
            id,
            applicationId: scene.bot.applicationId,
            channelId: scene.channelId,
            serverId: scene.world.serverId,
            user: { id: _id, username, displayName, avatarUrl, roles: [] },
            data: { id: scene.commands.hello, name: 'hello', options: [{ name: 'text', type: 'string', value: '$answer' }] },
          },
        },
      ]);
      const stored = await scene.stored(id);
      expect([stored.ob, stored.obAt]).to.deep.equal([undefined, undefined]);
      await sameAgain(() => deliver(id));
      expect(scene.personal).to.deep.equal([]);
    });

    it('repeated before the events were taken off, it still delivers once', async () => {
      const id = await scene.use();
      const { ob, obAt } = await scene.stored(id);
      await deliver(id);
      await scene.api.platform.db.interactions.updateOne({ _id: id }, { $set: { ob, obAt } });
      await deliver(id);
      expect(await scene.botEvents()).to.have.length(1);
      await sameAgain(() => deliver(id));
    });

    it('two at once deliver once', async () => {
      const id = await scene.use();
      await Promise.all([deliver(id), deliver(id), deliver(id)]);
      expect(await scene.botEvents()).to.have.length(1);
    });

    it('only the newest session gets it', async () => {
      await scene.connect();
      const id = await scene.use();
      await deliver(id);
      expect((await scene.botEvents()).map(({ data }) => data.id)).to.deep.equal([id]);
      const logged = await entriesOf(scene.worker.config, accountPlace(scene.bot.id));
      expect(logged.map(({ head }) => head.onlySession)).to.deep.equal(['session-2']);
    });

    it('a bot that went away, or is banned from the channel, is told nothing: it will expire', async () => {
      const [gone, blind] = [await scene.use(), await scene.use()];
      const hide = [{ id: scene.bot.id, allow: 0, deny: 1 }];
      await access(() => scene.api.platform.db.channels.updateOne({ _id: scene.channelId }, { $set: { overwrites: hide } }));
      await deliver(blind);
      expect(await scene.botEvents()).to.deep.equal([]);
      await access(() => scene.api.platform.db.channels.updateOne({ _id: scene.channelId }, { $set: { overwrites: [] } }));
      await scene.disconnect();
      await deliver(gone);
      for (const id of [gone, blind]) {
        const { state, ob, obAt } = await scene.stored(id);
        expect([state, ob, obAt]).to.deep.equal(['created', undefined, undefined]);
        await sameAgain(() => deliver(id));
      }
    });

    it('past its time the bot is not told, the person is: expired', async () => {
      const id = await scene.use();
      await scene.age(id, 3_000);
      await deliver(id);
      expect(await scene.botEvents()).to.deep.equal([]);
      await until(() => scene.personal.length > 0, 'INTERACTION_UPDATE');
      expect(scene.personal).to.deep.equal([{ name: 'INTERACTION_UPDATE', data: { id, channelId: scene.channelId, state: 'expired' } }]);
      await sameAgain(() => deliver(id));
    });

    it('the person, and not the bot, hears of each state', async () => {
      const id = await scene.use();
      await deliver(id);
      await scene.send('callback', id, { type: 'defer' });
      await deliver(id);
      await scene.send('followup', id, { content: 'x' });
      await deliver(id);
      await deliver(id);
      await until(() => scene.personal.length === 2, 'both states');
      expect(scene.personal.map(({ data }) => data.state)).to.deep.equal(['deferred', 'answered']);
      expect((await scene.botEvents()).map(({ name }) => name)).to.deep.equal(['INTERACTION_CREATE']);
    });

    it('an unknown interaction is skipped', () => deliver(scene.world.serverId));
  });

  describe('expire-interaction', () => {
    it('ends an unanswered interaction; twice is once', async () => {
      const id = await scene.use();
      await scene.age(id, 3_000);
      await expire(id);
      expect((await scene.stored(id)).state).to.equal('expired');
      await sameAgain(() => expire(id));
    });

    it('fired early it asks to come again when the time is over', async () => {
      const id = await scene.use();
      await scene.age(id, -10_000);
      const fault = await expire(id).then(
        () => null,
        (error: unknown) => error,
      );
      if (!(fault instanceof Later)) throw new Error(`not Later but ${String(fault)}`);
      expect(fault.ms).to.be.within(3_000, 13_000);
      expect((await scene.stored(id)).state).to.equal('created');
    });

    it('leaves answered, deferred and unknown ones alone', async () => {
      for (const body of [{ type: 'defer' }, { type: 'message', content: 'x' }]) {
        const id = await scene.use();
        await scene.send('callback', id, body);
        await scene.age(id, 4_000);
        await sameAgain(() => expire(id));
      }
      await expire(scene.world.serverId);
    });
  });

  describe('in running queues', () => {
    it('an expire job is waited for to the millisecond, also when nothing else comes', async () => {
      const { REDIS_URL, REDIS_PREFIX } = scene.worker.config;
      // By hand: the client fails when a monitored command comes before the answer, as on a busy Redis.
      const { port, password } = new URL(REDIS_URL);
      const monitor = connect(Number(port));
      const lines: string[] = [];
      createInterface(monitor).on('line', (line) => lines.push(line));
      monitor.write(`AUTH ${password || 'none'}\r\nMONITOR\r\n`);
      await until(() => lines.length >= 2, 'both answers');
      const ran: string[] = [];
      const handlers = {
        ...all,
        'expire-interaction': async (_worker: unknown, { interactionId: id }: { interactionId: string }) => void ran.push(id),
      };
      const consumers = scene.worker.consume(handlers, () => undefined);
      try {
        const ids = Array.from({ length: 3 }, () => scene.worker.ids.next());
        for (const interactionId of ids) await scene.worker.enqueue('expire-interaction', { interactionId });
        await until(() => ran.length === ids.length, 'the jobs');
      } finally {
        await consumers.close();
        monitor.destroy();
      }
      // For a Redis of unknown version it would wait for whole seconds, and the job be late by up to one of the half that is promised.
      const wait = new RegExp(`"bzpopmin" "{${REDIS_PREFIX}-queue-interactions}:interactions:[^"]*" "([^"]*)"`, 'i');
      const waits = lines.flatMap((line) => wait.exec(line)?.[1] ?? []).map(Number);
      expect(waits.filter((seconds) => !Number.isInteger(seconds))).not.to.deep.equal([]);
    });

    it('a use is refused while 250 wait for a worker, and nothing is stored; then it is taken again', async () => {
      await scene.use();
      const waiting = Array.from({ length: 249 }, () => ({ interactionId: scene.worker.ids.next() }));
      await Promise.all(waiting.map((data) => scene.worker.enqueue('relay-interaction', data)));
      const path = `/api/channels/${scene.channelId}/commands/${scene.commands.hello}/invoke`;
      const invoke = () => scene.api.call('POST', path, { as: scene.asPerson, body: {} });
      const { status, body } = await invoke();
      expect([status, body.code, body.retryAfter]).to.deep.equal([503, 'unavailable', 1]);
      expect(await scene.api.platform.db.interactions.countDocuments()).to.equal(1);
      const consumers = scene.worker.consume(all, () => undefined);
      try {
        await until(async () => (await scene.api.platform.waiting('interactions')) === 0, 'the workers');
        expect((await invoke()).status).to.equal(202);
      } finally {
        await consumers.close();
      }
    });

    it('one that fires early delays itself, and the person is told once', async () => {
      const failed: string[] = [];
      const handlers = { ...all, 'relay-channel': async () => undefined };
      const consumers = scene.worker.consume(handlers, (job, outcome) => void (outcome === 'failed' && failed.push(job)));
      try {
        const id = await scene.use();
        await scene.age(id, -700);
        await until(() => scene.personal.length > 0, 'INTERACTION_UPDATE');
        const { state, createdAt } = await scene.stored(id);
        expect(state).to.equal('expired');
        expect(Date.now() - createdAt.getTime()).to.be.greaterThan(2_900);
        expect((await scene.botEvents()).map(({ data }) => data.id)).to.deep.equal([id]);
        expect(failed).to.deep.equal([]);
      } finally {
        await consumers.close();
      }
      expect(scene.personal).to.have.length(1);
    });
  });

  describe('sweep', () => {
    it('leaves what is young to the jobs', async () => {
      await scene.use();
      await sameAgain(() => sweepInteractions(scene.worker));
    });

    it('delivers what is owed for more than 2 s, and ends what got no answer', async () => {
      const [owing, unanswered, answered] = [await scene.use(), await scene.use(), await scene.use()];
      await scene.send('callback', answered, { type: 'message', content: 'x' });
      await scene.age(owing, 2_000, 'obAt');
      await scene.age(answered, 2_000, 'obAt');
      await deliver(unanswered);
      await scene.age(unanswered, 3_000);
      await sweepInteractions(scene.worker);
      expect((await scene.botEvents()).map(({ data }) => data.id)).to.deep.equal([unanswered, owing]);
      await until(() => scene.personal.length === 2, 'both states');
      expect(scene.personal.map(({ data }) => [data.id, data.state])).to.have.deep.members([
        [unanswered, 'expired'],
        [answered, 'answered'],
      ]);
      for (const id of [owing, unanswered, answered]) expect((await scene.stored(id)).ob).to.equal(undefined);
      await sameAgain(() => sweepInteractions(scene.worker));
    });
  });
});
