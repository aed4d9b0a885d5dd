import fc from 'fast-check';

/** How a body arrives: by a callback, as the answer of the application's endpoint, by a follow-up, or by an edit of the first answer. */
export type Source = 'callback' | 'endpoint' | 'follow-up' | 'edit';

/** One thing that happens to an interaction. It is plain data, so that a counterexample is readable. */
export type Step =
  | { act: 'callback' | 'endpoint'; type: 'message' | 'defer'; ephemeral?: boolean }
  | { act: 'follow-up'; ephemeral?: boolean }
  /** Sets new content, sends an empty body, or removes content and embeds. */
  | { act: 'edit'; to: 'content' | 'same' | 'nothing' }
  | { act: 'delete' | 'view' | 'expire' | 'sweep' }
  /** Requests that are refused in every state. */
  | { act: 'bad body'; source: Source; body: object }
  | { act: 'wrong token'; source: Exclude<Source, 'endpoint'> | 'delete' }
  /** Runs one relay job, or two in parallel. */
  | { act: 'relay'; jobs: 1 | 2 }
  /** Lets time pass to just before or just after the end of a window. No time passes when it is already later. */
  | { act: 'pass'; moment: 'before' | 'after'; end: '3 s' | '15 min' };

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
const badBodies: Record<Source, readonly object[]> = {
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
  .chain((source) => fc.constantFrom(...badBodies[source]).map((body): Step => ({ act: 'bad body', source, body })));
const wrongToken = fc.constantFrom('callback', 'follow-up', 'edit', 'delete').map((source): Step => ({ act: 'wrong token', source }));
const plain = (act: 'delete' | 'view' | 'expire' | 'sweep') => fc.constant<Step>({ act });
const relay = fc.constantFrom(1, 2).map((jobs): Step => ({ act: 'relay', jobs }));
const pass = fc
  .tuple(fc.constantFrom('before', 'after'), fc.constantFrom('3 s', '15 min'))
  .map(([moment, end]): Step => ({ act: 'pass', moment, end }));

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
  { weight: 3, arbitrary: relay },
];
/** Any step except `pass`. */
const timeless = fc.oneof(...common);
const anyStep = fc.oneof(...common, { weight: 6, arbitrary: pass });

/** Sequences of 1 to 10 steps. Most begin with an answer, because little happens before one. */
export const sequences = fc.oneof(
  fc.array(anyStep, { minLength: 1, maxLength: 10 }),
  fc.tuple(answer, fc.array(anyStep, { maxLength: 9 })).map(([first, more]) => [first, ...more]),
  fc.tuple(pass, answer, fc.array(anyStep, { maxLength: 8 })).map(([first, second, more]) => [first, second, ...more]),
);

/** A few steps, then two in parallel. */
export const pairs = fc.record({
  first: fc.oneof(fc.array(anyStep, { maxLength: 3 }), fc.tuple(answer), fc.tuple(answer, pass)),
  both: fc.tuple(timeless, timeless),
});
