import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import { relay } from '../../lib/domain/events/relay.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { type Scene, startScene } from '../harness/scene.ts';
import { type Ears, listen } from './state-ears.ts';
import { created, leftMs, type Model, type Reply, take } from './state-model.ts';
import { pairs, type Step, sequences } from './state-steps.ts';
import { type Facts, type Subject, startSubject } from './state-subject.ts';

/** The same lives each time; another number makes others. */
const seed = Number(process.env.PROPERTY_SEED ?? 5_000);
const lanes = 4;
const sequencesPerLane = 625;
const pairsPerLane = 63;
/** So many files live half each, so that two processes do it beside each other: 5,000 sequences and 504 pairs in all. */
const halves = 2;

/** The machine took so long that time that passed by itself may have decided a step: the life tells nothing. */
class TooSlow extends Error {}
/** Redis that takes 300 ms is away: a delivery then rejects and is tried again, which no life does. */
const isTooSlow = (fault: unknown): boolean =>
  fault instanceof TooSlow || (fault instanceof Error && ['redis is away', 'Command timed out'].includes(fault.message));
/** Lives an interaction, new in the model too. */
type Life = (subject: Subject, fresh: Model) => Promise<void>;
/** So little is not worth giving back, in milliseconds. */
const freshMs = 5;

/** The transitions of docs/behavior/interactions.md#states and the other refusals, as the lives note them. The lives must reach each of them. */
const rows = [
  'created | callback message | answered',
  'created | callback defer | deferred',
  'created | pass | expired',
  'created | follow-up | created not_answered',
  'created | bad body | created invalid_request',
  'created | wrong token | created not_found',
  'created | edit | created not_answered',
  'created | delete | created not_answered',
  'deferred | follow-up | answered',
  'deferred | follow-up | deferred interaction_expired',
  'deferred | callback message | deferred already_answered',
  'deferred | callback defer | deferred already_answered',
  'deferred | edit | deferred not_answered',
  'deferred | pass | deferred',
  'answered | follow-up | answered',
  'answered | follow-up | answered interaction_expired',
  'answered | callback message | answered already_answered',
  'answered | callback defer | answered already_answered',
  'answered | edit | answered',
  'answered | edit | answered not_found',
  'answered | edit | answered interaction_expired',
  'answered | delete | answered',
  'answered | delete | answered not_found',
  'answered | delete | answered interaction_expired',
  'expired | callback message | expired interaction_expired',
  'expired | callback defer | expired interaction_expired',
  'expired | follow-up | expired interaction_expired',
  'expired | edit | expired interaction_expired',
  'expired | delete | expired interaction_expired',
];

/** Declares the tests of one half, from 0: each has lives of its own. */
export function describeLives(half: number): void {
  describe(`Interaction: random lives against a model, ${half + 1} of ${halves}`, () => {
    let scene: Scene;
    let ears: Ears;
    const met = new Set<string>();
    let lives = 0;
    before(async () => {
      scene = await startScene();
      await scene.api.platform.db.messages.collection.createIndex({ 'interaction.id': 1 });
      ears = await listen(scene);
    });
    after(async () => {
      await ears.close();
      await scene.close();
    });

    /** Takes steps at once, with the clock standing still. */
    const takeAtOnce = async (
      subject: Subject,
      before: Model,
      steps: readonly [step: Step, by: string, ms: number][],
    ): Promise<Reply[]> => {
      const left = leftMs(before);
      const near = before.state === 'created' || left < 1_000;
      if (near && subject.driftMs() > freshMs) await subject.pass(0);
      const replies = await Promise.all(steps.map((one) => subject.take(...one)));
      // A step that opens the 15 minutes may take no longer than the model stays away from their end.
      if (subject.driftMs() > (near ? Math.min(left, 5 * before.edgeMs) : left)) throw new TooSlow('the machine is too slow to tell');
      return replies.map((reply) => reply());
    };

    /** Takes steps one after another, each compared with the model; answers the model after them. */
    const takeInOrder = async (subject: Subject, steps: readonly Step[], fresh: Model): Promise<Model> => {
      let model = fresh;
      for (const [at, step] of steps.entries()) {
        const by = `step ${at}`;
        const { after, reply } = take(model, step, by);
        const [answered] = await takeAtOnce(subject, model, [[step, by, after.ageMs - model.ageMs]]);
        expect(answered, `${by}, ${JSON.stringify(step)}: ${JSON.stringify({ answered, reply })}`).to.deep.equal(reply);
        met.add(`${model.state} | ${'type' in step ? `callback ${step.type}` : step.act} | ${after.state} ${reply.code ?? ''}`.trim());
        model = after;
      }
      return model;
    };

    /** What is left when all is delivered. One that is still unanswered gets more time, so that looking does not end it. */
    const settle = async (subject: Subject, { state }: Model): Promise<Facts> => {
      if (state === 'created') await subject.pass(-60_000);
      return subject.settle();
    };

    /** What the model leaves, with how often its bot may have been handed the interaction. */
    const expected = (model: Model): { facts: Omit<Facts, 'bot'>; bot: readonly number[] } => {
      const { state, original, posted, heard, bot } = take(model, { act: 'deliver', jobs: 1 }, '').after;
      const times = { 'not yet': [], perhaps: [0, 1], once: [1], never: [0] };
      return { facts: { state, original, posted, heard, amiss: [] }, bot: times[bot] };
    };

    /** Runs `act` with a new interaction, and again with another one, not as close to the ends of the windows, when the machine was too slow. */
    const withSubject = async (act: Life): Promise<void> => {
      // Nobody sends heartbeats for the bot's session: without a new one now and then it would end.
      if (++lives % 500 === 0) await scene.connect();
      for (let tries = 1; ; tries++)
        try {
          return await act(await startSubject(scene, ears), created(Math.min(100 * 2 ** (tries - 1), 800)));
        } catch (fault) {
          if (!isTooSlow(fault) || tries === 20) throw fault;
        }
    };

    /** Checks a property in several lanes at once: most of the time is waited for the stores. */
    const inLanes = async <T>(arbitrary: fc.Arbitrary<T>, numRuns: number, act: (input: T) => Life) => {
      const property = fc.asyncProperty(arbitrary, (input) => withSubject(act(input)));
      const runs = Array.from({ length: lanes }, (_, lane) => fc.assert(property, { seed: seed + half * lanes + lane, numRuns }));
      for (const run of await Promise.allSettled(runs)) if (run.status === 'rejected') throw run.reason;
    };

    it(`${lanes * sequencesPerLane} sequences of up to 10 steps`, async () => {
      await inLanes(sequences, sequencesPerLane, (steps) => async (subject, fresh) => {
        const model = await takeInOrder(subject, steps, fresh);
        const { bot, ...facts } = await settle(subject, model);
        const right = expected(model);
        expect(facts, JSON.stringify({ facts, right })).to.deep.equal(right.facts);
        expect(right.bot, 'times that the bot was handed it').to.include(bot);
      });
      expect(rows.filter((row) => !met.has(row))).to.deep.equal([]);
    }).timeout(1_800_000);

    it(`${lanes * pairsPerLane} times two steps at once: one order of the two explains both answers and what is left`, () =>
      inLanes(pairs, pairsPerLane, ({ first, both: [a, b] }) => async (subject, fresh) => {
        const before = await takeInOrder(subject, first, fresh);
        const replies = await takeAtOnce(subject, before, [
          [a, 'a', 0],
          [b, 'b', 0],
        ]);
        // Posts at once may stand in either order, whoever was first to answer.
        const sorted = ({ bot, ...facts }: Omit<Facts, 'bot'> & { bot: unknown }) => {
          const posted = [...facts.posted].sort((one, other) => one.by.localeCompare(other.by));
          return { ...facts, posted, bot };
        };
        const [aFirst, bFirst] = [take(before, a, 'a'), take(before, b, 'b')];
        const [bSecond, aSecond] = [take(aFirst.after, b, 'b'), take(bFirst.after, a, 'a')];
        const orders = [
          { after: bSecond.after, replies: [aFirst.reply, bSecond.reply] },
          { after: aSecond.after, replies: [aSecond.reply, bFirst.reply] },
        ];
        const found = { replies, ...sorted(await settle(subject, bSecond.after)) };
        const explained = orders.flatMap((order) => {
          const { facts, bot } = expected(order.after);
          return bot.map((times) => ({ replies: order.replies, ...sorted({ ...facts, bot: times }) }));
        });
        const fits = explained.some((one) => isDeepStrictEqual(one, found));
        expect(fits, `found ${JSON.stringify(found)}, where only these are right: ${JSON.stringify(explained)}`).to.equal(true);
      })).timeout(1_800_000);

    it('the channel heard of each message that stands once, and of no other', async () => {
      const owing = { channelId: scene.channelId, obAt: { $exists: true } };
      const messages = scene.api.platform.db.messages.collection;
      while (await messages.findOne(owing as never)) await relay(scene.worker, 'channel', scene.channelId);
      await ears.caughtUp();
      const heard = ears.said.filter(({ place, name }) => place === serverPlace(scene.world.serverId) && name === 'MESSAGE_CREATE');
      const standing = (await scene.messages()).map(({ _id }) => _id);
      expect(heard.map(({ data }) => data.id)).to.have.members(standing);
      expect(heard).to.have.length(standing.length);
    }).timeout(180_000);
  });
}
