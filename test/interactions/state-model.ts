import type { Step } from './state-steps.ts';

/*
 * What an interaction does, as docs/behavior/interactions.md#states describes it, independent of the code. It has no database, no jobs and no delays: after
 * 3 seconds an unanswered interaction is expired, whoever finds out and when.
 */

const windowMs = { '3 s': 3_000, '15 min': 15 * 60_000 };
/** How close to the end of a window it gets, in `edgeMs`. */
const edges = { '3 s': 1, '15 min': 5 };
/** A sweep delivers what has been pending for more than this, without a job (docs/guarantees.md#sweeps). */
const sweptMs = 2_000;

/** A message of the interaction in the channel. `by` is the name of the step that posted it, `content` that of the step that wrote it last. */
export interface Posted {
  by: string;
  content: string;
  edited: boolean;
}

/** An interaction as all that is promised about it. */
export interface Model {
  state: 'created' | 'answered' | 'deferred' | 'expired';
  /** How close to the end of the 3 seconds it gets. At 100: 2.9 s are accepted and 3.1 s refused (docs/guarantees.md#p6-one-answer). */
  edgeMs: number;
  /** Since it was created. */
  ageMs: number;
  /** Since the answer or the defer; null before. */
  openMs: number | null;
  /** Whether the defer was ephemeral. */
  hides: boolean;
  /** The step whose message is the first answer; null while there is none and when it was ephemeral. */
  original: string | null;
  /** What stands in the channel, oldest first. */
  posted: Posted[];
  /** What the person, and nobody else, has heard or will: each state once, and ephemeral messages. */
  heard: string[];
  /** Whether the bot was handed the interaction: not yet; once; never, as it was too late; or perhaps, as a sweep may have come by. */
  bot: 'not yet' | 'once' | 'never' | 'perhaps';
}

/** What a step is answered. Jobs answer nothing but `again`: the expire job has come too early. */
export interface Reply {
  status?: number;
  code?: string;
  shown?: Posted & { hidden: boolean };
  view?: { state: string; original: string | null };
  again?: boolean;
}

/** An interaction that was just created. */
export const created = (edgeMs: number): Model => ({
  state: 'created',
  edgeMs,
  ageMs: 0,
  openMs: null,
  hides: false,
  original: null,
  posted: [],
  heard: [],
  bot: 'not yet',
});

const refused = {
  badBody: { status: 400, code: 'invalid_request' },
  notAnswered: { status: 400, code: 'not_answered' },
  notFound: { status: 404, code: 'not_found' },
  alreadyAnswered: { status: 409, code: 'already_answered' },
  expired: { status: 410, code: 'interaction_expired' },
};

/** How long until time by itself changes anything, in milliseconds. */
export function leftMs({ state, ageMs, openMs, bot }: Model): number {
  if (state === 'created') return (bot === 'not yet' ? sweptMs : windowMs['3 s']) - ageMs;
  return openMs !== null && openMs < windowMs['15 min'] ? windowMs['15 min'] - openMs : Number.POSITIVE_INFINITY;
}

/** Whether follow-ups and changes of the first answer are over: they have 15 minutes from the answer or the defer. */
const isOver = ({ state, openMs }: Model): boolean => state === 'expired' || (openMs !== null && openMs >= windowMs['15 min']);

function enter(model: Model, state: 'answered' | 'deferred' | 'expired'): void {
  model.state = state;
  model.heard.push(state);
}

/** A message, to the channel or to the person only. */
function show(model: Model, by: string, hidden: boolean): Reply {
  const message = { by, content: by, edited: false };
  if (hidden) model.heard.push(`${by}, hidden`);
  else model.posted.push(message);
  return { status: 201, shown: { ...message, hidden } };
}

/** The first real answer. */
function answer(model: Model, by: string, hidden: boolean): Reply {
  const reply = show(model, by, hidden);
  model.original = hidden ? null : by;
  model.openMs ??= 0;
  enter(model, 'answered');
  return reply;
}

function callback(model: Model, step: Step & { act: 'callback' | 'endpoint' }, by: string): Reply {
  if (model.state === 'expired') return refused.expired;
  if (model.state !== 'created') return refused.alreadyAnswered;
  if (step.type === 'message') return answer(model, by, step.ephemeral === true);
  model.openMs = 0;
  model.hides = step.ephemeral === true;
  enter(model, 'deferred');
  return { status: 204 };
}

function followUp(model: Model, step: Step & { act: 'follow-up' }, by: string): Reply {
  if (model.state === 'created') return refused.notAnswered;
  if (isOver(model)) return refused.expired;
  return model.state === 'deferred' ? answer(model, by, step.ephemeral ?? model.hides) : show(model, by, step.ephemeral === true);
}

/** A change of the first answer. */
function change(model: Model, to: 'content' | 'same' | 'nothing' | 'gone', by: string): Reply {
  if (model.state === 'created') return refused.notAnswered;
  if (isOver(model)) return refused.expired;
  if (model.state === 'deferred') return refused.notAnswered;
  const message = model.posted.find((one) => one.by === model.original);
  if (!message) return refused.notFound;
  if (to === 'gone') {
    model.posted = model.posted.filter((one) => one !== message);
    return { status: 204 };
  }
  if (to === 'nothing') return refused.badBody;
  if (to === 'content') Object.assign(message, { content: by, edited: true });
  return { status: 200, shown: { ...message, hidden: false } };
}

/** The bot is handed an interaction that it can still answer, once. */
function deliver(model: Model): void {
  if (model.bot === 'not yet') model.bot = model.state === 'created' ? 'once' : 'never';
  else if (model.bot === 'perhaps' && model.state === 'created') model.bot = 'once';
}

function pass(model: Model, step: Step & { act: 'pass' }): void {
  const margin = edges[step.end] * model.edgeMs;
  const at = windowMs[step.end] + (step.until === 'before' ? -margin : margin);
  const ms = Math.max(0, at - (step.end === '3 s' ? model.ageMs : (model.openMs ?? model.ageMs)));
  model.ageMs += ms;
  if (model.openMs !== null) model.openMs += ms;
  if (model.state !== 'created') return;
  if (model.ageMs >= windowMs['3 s']) enter(model, 'expired');
  // Another lane's sweep takes what is owed for so long, too.
  else if (model.ageMs > sweptMs && model.bot === 'not yet') model.bot = 'perhaps';
}

function replyTo(model: Model, step: Step, by: string): Reply {
  switch (step.act) {
    case 'callback':
    case 'endpoint':
      return callback(model, step, by);
    case 'follow-up':
      return followUp(model, step, by);
    case 'edit':
      return change(model, step.to, by);
    case 'delete':
      return change(model, 'gone', by);
    case 'view':
      return { status: 200, view: { state: model.state, original: model.original } };
    case 'bad body':
      return refused.badBody;
    case 'wrong token':
      return refused.notFound;
    case 'expire':
      return { again: model.state === 'created' };
    case 'deliver':
      deliver(model);
      return {};
    case 'sweep':
      return {};
    case 'pass':
      pass(model, step);
      return {};
    default:
      return step satisfies never;
  }
}

/** What a step, named `by`, is answered, and the interaction after it. */
export function take(before: Model, step: Step, by: string): { after: Model; reply: Reply } {
  const after = structuredClone(before);
  return { after, reply: replyTo(after, step, by) };
}
