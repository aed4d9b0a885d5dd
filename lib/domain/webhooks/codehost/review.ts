import type { Embed } from '../../../contract/message.ts';
import { excerptOf } from './excerpt.ts';
import { about, colors, embedOf } from './look.ts';
import { bounds, type Fields, lineAt, linkAt, objectAt, rawAt, without, wrongAction } from './read.ts';
import { type Common, commonOf, type Topic, topicOf } from './subject.ts';

/** The facts about a review of a pull request. */
export interface ReviewFacts extends Common, Topic {
  event: 'pull_request_review';
  state: 'approved' | 'changes_requested' | 'commented';
  body: string;
}

const states = {
  approved: { title: 'Pull request approved', color: colors.approved },
  changes_requested: { title: 'Changes requested', color: colors.changes },
  commented: { title: 'Pull request reviewed', color: colors.comment },
} as const;

const isState = (state: string): state is ReviewFacts['state'] => Object.hasOwn(states, state);

function factsOf(payload: Fields, state: ReviewFacts['state'], body: string): ReviewFacts | string {
  const pull = objectAt(payload, 'pull_request');
  if (pull === null) return without('pull_request');
  const topic = topicOf(payload, pull, 'pulls');
  const url = linkAt(payload, 'review.html_url') ?? topic.url;
  return { event: 'pull_request_review', ...commonOf(payload, 'review.user'), ...topic, url, state, body: excerptOf(body) };
}

/** Reads a `pull_request_review` (GitHub). Submitted reviews are posted that approve, request changes or comment. */
export function readReview(payload: Fields): ReviewFacts | string {
  if (rawAt(payload, 'action') !== 'submitted') return wrongAction('pull_request_review', payload);
  if (objectAt(payload, 'review') === null) return without('review');
  const state = rawAt(payload, 'review.state').toLowerCase();
  if (isState(state)) return factsOf(payload, state, rawAt(payload, 'review.body'));
  return `a review in state \`${lineAt(payload, bounds.action, 'review.state') || 'unknown'}\` posts nothing`;
}

/**
 * Reads what Gitea and Forgejo send for a review: `pull_request_approved`, `pull_request_rejected` or `pull_request_comment`. The action is always `reviewed`.
 */
export const readGiteaReview =
  (state: ReviewFacts['state']) =>
  (payload: Fields): ReviewFacts | string =>
    factsOf(payload, state, rawAt(payload, 'review.content', 'review.body'));

/** The post of a review. */
export function renderReview(facts: ReviewFacts): Embed {
  const { title, color } = states[facts.state];
  return embedOf(facts, { title: about(title, facts), url: facts.url, color, body: facts.body });
}
