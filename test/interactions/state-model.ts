import type { Step } from './state-steps.ts';

/*
 * A model of the states of an interaction as docs/behavior/interactions.md#states describes them, independent of the code. It has no database, no jobs and
 * no delays: an unanswered interaction expires after exactly 3 seconds.
 */

const windowMs = { '3 s': 3_000, '15 min': 15 * 60_000 };
/** The distance that a `pass` step keeps from the end of a window, in units of `edgeMs`. */
const edges = { '3 s': 1, '15 min': 5 };
/** The sweep relays events that are pending for longer than this, without a job (docs/guarantees.md#sweeps). */
const sweepAfterMs = 2_000;

/** A message of the interaction in the channel. `by` names the step that posted it, `content` the step that wrote it last. */
export interface Posted {
  by: string;
  content: string;
  edited: boolean;
}

/** Everything that is promised about an interaction. */
export interface Model {
  state: 'created' | 'answered' | 'deferred' | 'expired';
  /** How close `pass` steps get to the end of the 3 seconds. With 100, 2.9 s are accepted and 3.1 s refused (docs/guarantees.md#p6-one-answer). */
  edgeMs: number;
  /** The time since it was created. */
  ageMs: number;
  /** The time since the answer or the defer; null before that. */
  openMs: number | null;
  /** Whether the defer was ephemeral. */
  deferIsEphemeral: boolean;
  /** The step whose message is the first answer. Null while there is none and when it was ephemeral. */
  original: string | null;
  /** The first answer, if it is ephemeral. Null after it was deleted. */
  hidden: Posted | null;
  /** The messages in the channel, oldest first. */
  posted: Posted[];
  /** What the person, and nobody else, receives: each state once, and ephemeral messages. */
  received: string[];
  /** Whether the bot received the interaction: not yet, once, never (it was too late), or perhaps (a sweep may have run). */
  bot: 'not yet' | 'once' | 'never' | 'perhaps';
}

/** The response to a step. Jobs only respond with `again`: the expire job has run too early. */
export interface Reply {
  status?: number;
  code?: string;
  shown?: Posted & { hidden: boolean };
  view?: { state: string; original: string | null };
  again?: boolean;
}

/** Returns the model of an interaction that was just created. */
export const created = (edgeMs: number): Model => ({
  state: 'created',
  edgeMs,
  ageMs: 0,
  openMs: null,
  deferIsEphemeral: false,
  original: null,
  hidden: null,
  posted: [],
  received: [],
  bot: 'not yet',
});

const refused = {
  badBody: { status: 400, code: 'invalid_request' },
  notAnswered: { status: 400, code: 'not_answered' },
  notFound: { status: 404, code: 'not_found' },
  alreadyAnswered: { status: 409, code: 'already_answered' },
  expired: { status: 410, code: 'interaction_expired' },
};

/** Returns how long it takes until time alone changes the state, in milliseconds. */
export function leftMs({ state, ageMs, openMs, bot }: Model): number {
  if (state === 'created') return (bot === 'not yet' ? sweepAfterMs : windowMs['3 s']) - ageMs;
  return openMs !== null && openMs < windowMs['15 min'] ? windowMs['15 min'] - openMs : Number.POSITIVE_INFINITY;
}

/** Whether follow-ups and edits of the first answer are refused: 15 minutes after the answer or the defer. */
const isOver = ({ state, openMs }: Model): boolean => state === 'expired' || (openMs !== null && openMs >= windowMs['15 min']);

function setState(model: Model, state: 'answered' | 'deferred' | 'expired'): void {
  model.state = state;
  model.received.push(state);
}

/** Sends a message to the channel, or only to the person. */
function sendMessage(model: Model, by: string, hidden: boolean): Reply {
  const message = { by, content: by, edited: false };
  if (hidden) model.received.push(`${by}, hidden`);
  else model.posted.push(message);
  return { status: 201, shown: { ...message, hidden } };
}

/** Applies the first answer. */
function answer(model: Model, by: string, hidden: boolean): Reply {
  const reply = sendMessage(model, by, hidden);
  model.original = hidden ? null : by;
  model.hidden = hidden ? { by, content: by, edited: false } : null;
  model.openMs ??= 0;
  setState(model, 'answered');
  return reply;
}

function callback(model: Model, step: Step & { act: 'callback' | 'endpoint' }, by: string): Reply {
  if (model.state === 'expired') return refused.expired;
  if (model.state !== 'created') return refused.alreadyAnswered;
  if (step.type === 'message') return answer(model, by, step.ephemeral === true);
  model.openMs = 0;
  model.deferIsEphemeral = step.ephemeral === true;
  setState(model, 'deferred');
  return { status: 204 };
}

function followUp(model: Model, step: Step & { act: 'follow-up' }, by: string): Reply {
  if (model.state === 'created') return refused.notAnswered;
  if (isOver(model)) return refused.expired;
  return model.state === 'deferred'
    ? answer(model, by, step.ephemeral ?? model.deferIsEphemeral)
    : sendMessage(model, by, step.ephemeral === true);
}

/** Edits or deletes the first answer. After a defer, an edit is the answer. */
function change(model: Model, to: 'content' | 'same' | 'nothing' | 'gone', by: string): Reply {
  if (model.state === 'created') return refused.notAnswered;
  if (isOver(model)) return refused.expired;
  if (model.state === 'deferred') {
    if (to === 'gone') return refused.notAnswered;
    return to === 'content' ? { ...answer(model, by, model.deferIsEphemeral), status: 200 } : refused.badBody;
  }
  const { hidden } = model;
  const message = hidden ?? model.posted.find((one) => one.by === model.original);
  if (!message) return refused.notFound;
  if (to === 'gone') {
    model.posted = model.posted.filter((one) => one !== message);
    model.hidden = null;
    return { status: 204 };
  }
  if (to === 'nothing') return refused.badBody;
  if (to === 'content') {
    Object.assign(message, { content: by, edited: true });
    if (hidden) model.received.push(`${hidden.by}, hidden`);
  }
  return { status: 200, shown: { ...message, hidden: hidden !== null } };
}

/** The bot receives an interaction once, if it can still answer it. */
function relay(model: Model): void {
  if (model.bot === 'not yet') model.bot = model.state === 'created' ? 'once' : 'never';
  else if (model.bot === 'perhaps' && model.state === 'created') model.bot = 'once';
}

function pass(model: Model, step: Step & { act: 'pass' }): void {
  const margin = edges[step.end] * model.edgeMs;
  const at = windowMs[step.end] + (step.moment === 'before' ? -margin : margin);
  const ms = Math.max(0, at - (step.end === '3 s' ? model.ageMs : (model.openMs ?? model.ageMs)));
  model.ageMs += ms;
  if (model.openMs !== null) model.openMs += ms;
  if (model.state !== 'created') return;
  if (model.ageMs >= windowMs['3 s']) setState(model, 'expired');
  // The sweep of another lane may relay events that are pending for so long.
  else if (model.ageMs > sweepAfterMs && model.bot === 'not yet') model.bot = 'perhaps';
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
    case 'relay':
      relay(model);
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

/** Returns the response to the step named `by`, and the interaction after it. */
export function take(before: Model, step: Step, by: string): { after: Model; reply: Reply } {
  const after = structuredClone(before);
  return { after, reply: replyTo(after, step, by) };
}
