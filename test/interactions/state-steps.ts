import fc from 'fast-check';

/** The ways by which a body comes in: a callback, the answer of the application's endpoint, a follow-up, an edit of the first answer. */
export type Way = 'callback' | 'endpoint' | 'follow-up' | 'edit';

/** One thing that happens to an interaction. Plain data, so that a counterexample can be read. */
export type Step =
  | { act: 'callback' | 'endpoint'; type: 'message' | 'defer'; ephemeral?: boolean }
  | { act: 'follow-up'; ephemeral?: boolean }
  /** To new content; with an empty body; so that nothing would be left. */
  | { act: 'edit'; to: 'content' | 'same' | 'nothing' }
  | { act: 'delete' | 'view' | 'expire' | 'sweep' }
  /** What is refused whatever the state is. */
  | { act: 'bad body'; way: Way; body: object }
  | { act: 'wrong token'; way: Exclude<Way, 'endpoint'> | 'delete' }
  /** The job, or two of them at once. */
  | { act: 'deliver'; jobs: 1 | 2 }
  /** Time passes until just before or just after the end of a window; none, when it is later than that already. */
  | { act: 'pass'; until: 'before' | 'after'; end: '3 s' | '15 min' };

const long = 'x'.repeat(2001);
const many = Array.from({ length: 11 }, () => ({ title: 'x' }));
const badContents = [{ content: long }, { embeds: many }, { content: 'x', embeds: [{}] }];
const badFollowUps = [{}, { content: ' ', embeds: [] }, { content: 'x', ephemeral: 'true' }, ...badContents];
const badAnswers = [
  { content: 'x' },
  { type: 'pong' },
  { type: 'defer', ephemeral: 1 },
  ...badFollowUps.map((body) => ({ type: 'message', ...body })),
];
const badBodies: Record<Way, readonly object[]> = {
  callback: badAnswers,
  endpoint: badAnswers,
  'follow-up': badFollowUps,
  edit: [{ content: null }, { content: long }, { embeds: many }],
};

const ephemeral = fc.constantFrom({}, { ephemeral: true }, { ephemeral: false });
const answer = fc
  .tuple(fc.constantFrom('callback', 'callback', 'endpoint'), fc.constantFrom('message', 'defer'), ephemeral)
  .map(([act, type, more]): Step => ({ act, type, ...more }));
const followUp = ephemeral.map((more): Step => ({ act: 'follow-up', ...more }));
const edit = fc.constantFrom('content', 'content', 'same', 'nothing').map((to): Step => ({ act: 'edit', to }));
const badBody = fc
  .constantFrom('callback', 'endpoint', 'follow-up', 'edit')
  .chain((way) => fc.constantFrom(...badBodies[way]).map((body): Step => ({ act: 'bad body', way, body })));
const wrongToken = fc.constantFrom('callback', 'follow-up', 'edit', 'delete').map((way): Step => ({ act: 'wrong token', way }));
const plain = (act: 'delete' | 'view' | 'expire' | 'sweep') => fc.constant<Step>({ act });
const deliver = fc.constantFrom(1, 2).map((jobs): Step => ({ act: 'deliver', jobs }));
const pass = fc
  .tuple(fc.constantFrom('before', 'after'), fc.constantFrom('3 s', '15 min'))
  .map(([until, end]): Step => ({ act: 'pass', until, end }));

const common = [
  { weight: 6, arbitrary: answer },
  { weight: 5, arbitrary: followUp },
  { weight: 3, arbitrary: edit },
  { weight: 2, arbitrary: plain('delete') },
  { weight: 2, arbitrary: plain('view') },
  { weight: 2, arbitrary: badBody },
  { weight: 1, arbitrary: wrongToken },
  { weight: 2, arbitrary: plain('expire') },
  { weight: 1, arbitrary: plain('sweep') },
  { weight: 3, arbitrary: deliver },
];
/** A step that takes no time. */
const timeless = fc.oneof(...common);
const anyStep = fc.oneof(...common, { weight: 6, arbitrary: pass });

/** A life of an interaction: 1 to 10 steps. Most begin with an answer, as little happens before. */
export const sequences = fc.oneof(
  fc.array(anyStep, { minLength: 1, maxLength: 10 }),
  fc.tuple(answer, fc.array(anyStep, { maxLength: 9 })).map(([first, more]) => [first, ...more]),
  fc.tuple(pass, answer, fc.array(anyStep, { maxLength: 8 })).map(([first, second, more]) => [first, second, ...more]),
);

/** A few steps, then two at once. */
export const pairs = fc.record({
  first: fc.oneof(fc.array(anyStep, { maxLength: 3 }), fc.tuple(answer), fc.tuple(answer, pass)),
  both: fc.tuple(timeless, timeless),
});
