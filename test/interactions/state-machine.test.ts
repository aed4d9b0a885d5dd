import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { startInteractionFixture } from '../harness/interaction-fixture.ts';
import { use } from '../harness/use.ts';
import { created, leftMs, type Model, type Reply, take } from './state-model.ts';
import { pairs, type Step, sequences } from './state-steps.ts';
import { collectEvents, type Outcome, type Subject, startSubject } from './state-subject.ts';

/** The seed of the random sequences. They are the same in every run unless PROPERTY_SEED is set. */
const seed = Number(process.env.PROPERTY_SEED ?? 5_000);
const lanes = 4;
/** How many sequences of steps are tried, and a fifth as many pairs of parallel steps. `PROPERTY_RUNS=10000` searches longer. */
const runs = Number(process.env.PROPERTY_RUNS ?? 500);
const sequencesPerLane = Math.ceil(runs / lanes);
const pairsPerLane = Math.ceil(runs / 5 / lanes);

/** The machine was so slow that real time may have decided a step. The run proves nothing and is repeated. */
class TooSlow extends Error {}
/** A reply of Redis that takes 300 ms counts as unavailable: the relay then rejects, and the test does not repeat it as the queue would. */
const isTooSlow = (fault: unknown): boolean =>
  fault instanceof TooSlow || (fault instanceof Error && ['Redis is unavailable', 'Command timed out'].includes(fault.message));
/** Runs steps with a new interaction and a new model. */
type Run = (subject: Subject, fresh: Model) => Promise<void>;
/** Drift up to this is not corrected, in milliseconds. */
const freshMs = 5;

/** The transitions of docs/behavior/interactions.md#states and the other refusals. The random sequences must reach each of them. */
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
  'deferred | edit | answered',
  'deferred | delete | deferred not_answered',
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

describe('Interaction: random steps compared with a model', () => {
  const fixture = use(startInteractionFixture);
  const collector = use(() => collectEvents(fixture));
  const reached = new Set<string>();
  let runCount = 0;
  before(() => fixture.api.platform.db.messages.createIndex({ 'interaction.id': 1 }));

  /** Takes steps in parallel, with no time in between. */
  const takeInParallel = async (
    subject: Subject,
    before: Model,
    steps: readonly [step: Step, by: string, ms: number][],
  ): Promise<Reply[]> => {
    const left = leftMs(before);
    const near = before.state === 'created' || left < 1_000;
    if (near && subject.driftMs() > freshMs) await subject.pass(0);
    const replies = await Promise.all(steps.map((one) => subject.take(...one)));
    // A step that starts the 15 minutes may not take longer than the distance that the model keeps from their end.
    if (subject.driftMs() > (near ? Math.min(left, 5 * before.edgeMs) : left)) throw new TooSlow('the machine is too slow for this run');
    return replies.map((reply) => reply());
  };

  /** Takes steps one after another and compares each response with the model. Returns the model after them. */
  const takeInOrder = async (subject: Subject, steps: readonly Step[], fresh: Model): Promise<Model> => {
    let model = fresh;
    for (const [at, step] of steps.entries()) {
      const by = `step ${at}`;
      const { after, reply } = take(model, step, by);
      const [answered] = await takeInParallel(subject, model, [[step, by, after.ageMs - model.ageMs]]);
      expect(answered, `${by}, ${JSON.stringify(step)}: ${JSON.stringify({ answered, reply })}`).to.deep.equal(reply);
      reached.add(`${model.state} | ${'type' in step ? `callback ${step.type}` : step.act} | ${after.state} ${reply.code ?? ''}`.trim());
      model = after;
    }
    return model;
  };

  /** Returns the final state. An unanswered interaction gets more time, so that reading it does not expire it. */
  const finish = async (subject: Subject, { state }: Model): Promise<Outcome> => {
    if (state === 'created') await subject.pass(-60_000);
    return subject.finish();
  };

  /** Returns the final state that the model expects, and how often the bot may have received the interaction. */
  const expected = (model: Model): { outcome: Omit<Outcome, 'bot'>; bot: readonly number[] } => {
    const { state, original, posted, received, bot } = take(model, { act: 'relay', jobs: 1 }, '').after;
    const times = { 'not yet': [], perhaps: [0, 1], once: [1], never: [0] };
    return { outcome: { state, original, posted, received, unexpected: [] }, bot: times[bot] };
  };

  /** Runs `act` with a new interaction. Repeats it with another one, farther from the ends of the windows, when the machine was too slow. */
  const withSubject = async (act: Run): Promise<void> => {
    // Nobody sends heartbeats for the bot's session, so it is replaced now and then before it ends.
    if (++runCount % 500 === 0) await fixture.connect();
    for (let tries = 1; ; tries++)
      try {
        return await act(await startSubject(fixture, collector), created(Math.min(100 * 2 ** (tries - 1), 800)));
      } catch (fault) {
        if (!isTooSlow(fault) || tries === 20) throw fault;
      }
  };

  /** Checks a property in several lanes in parallel, because most of the time is spent waiting for the stores. */
  const inLanes = async <T>(arbitrary: fc.Arbitrary<T>, numRuns: number, act: (input: T) => Run) => {
    const property = fc.asyncProperty(arbitrary, (input) => withSubject(act(input)));
    const results = Array.from({ length: lanes }, (_, lane) => fc.assert(property, { seed: seed + lane, numRuns }));
    for (const run of await Promise.allSettled(results)) if (run.status === 'rejected') throw run.reason;
  };

  it(`${lanes * sequencesPerLane} sequences of up to 10 steps`, async () => {
    await inLanes(sequences, sequencesPerLane, (steps) => async (subject, fresh) => {
      const model = await takeInOrder(subject, steps, fresh);
      const { bot, ...outcome } = await finish(subject, model);
      const right = expected(model);
      expect(outcome, JSON.stringify({ outcome, right })).to.deep.equal(right.outcome);
      expect(right.bot, 'times that the bot received it').to.include(bot);
    });
    expect(rows.filter((row) => !reached.has(row))).to.deep.equal([]);
  }).timeout(1_800_000);

  it(`${lanes * pairsPerLane} pairs of parallel steps: one order of the two explains both responses and the final state`, () =>
    inLanes(pairs, pairsPerLane, ({ first, both: [a, b] }) => async (subject, fresh) => {
      const before = await takeInOrder(subject, first, fresh);
      const replies = await takeInParallel(subject, before, [
        [a, 'a', 0],
        [b, 'b', 0],
      ]);
      // Parallel posts may be in either order, whichever request was answered first.
      const sorted = ({ bot, ...outcome }: Omit<Outcome, 'bot'> & { bot: unknown }) => {
        const posted = [...outcome.posted].sort((one, other) => one.by.localeCompare(other.by));
        return { ...outcome, posted, bot };
      };
      const [aFirst, bFirst] = [take(before, a, 'a'), take(before, b, 'b')];
      const [bSecond, aSecond] = [take(aFirst.after, b, 'b'), take(bFirst.after, a, 'a')];
      const orders = [
        { after: bSecond.after, replies: [aFirst.reply, bSecond.reply] },
        { after: aSecond.after, replies: [aSecond.reply, bFirst.reply] },
      ];
      const found = { replies, ...sorted(await finish(subject, bSecond.after)) };
      const explained = orders.flatMap((order) => {
        const { outcome, bot } = expected(order.after);
        return bot.map((times) => ({ replies: order.replies, ...sorted({ ...outcome, bot: times }) }));
      });
      const fits = explained.some((one) => isDeepStrictEqual(one, found));
      expect(fits, `found ${JSON.stringify(found)}, where only these are right: ${JSON.stringify(explained)}`).to.equal(true);
    })).timeout(1_800_000);

  it('the server’s log has one MESSAGE_CREATE for each message that exists, and no other', async () => {
    const pending = { channelId: fixture.channelId, outboxAt: { $exists: true } };
    const messages = fixture.api.platform.db.messages;
    while (await messages.findOne(pending)) await relayEvents(fixture.worker, 'channel', fixture.channelId);
    await collector.caughtUp();
    const logged = collector.received.filter(
      ({ place, name }) => place === serverPlace(fixture.seeded.serverId) && name === 'MESSAGE_CREATE',
    );
    const messageIds = (await fixture.messages()).map(({ _id }) => _id);
    expect(logged.map(({ data }) => data.id)).to.have.members(messageIds);
    expect(logged).to.have.length(messageIds.length);
  }).timeout(180_000);
});
