import type { Embed } from '../../../contract/embed.ts';
import { colors, createEmbed, withTopic } from './embed.ts';
import { toExcerpt } from './excerpt.ts';
import { bounds, explainIgnoredAction, explainMissing, type Fields, lineAt, linkAt, objectAt, stringAt } from './payload.ts';
import { type CommonFacts, readCommonFacts, readTopic, type Topic } from './subject.ts';

/** The facts about a review of a pull request. */
export interface ReviewFacts extends CommonFacts, Topic {
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

function createFacts(payload: Fields, state: ReviewFacts['state'], body: string): ReviewFacts | string {
  const pull = objectAt(payload, 'pull_request');
  if (pull === null) return explainMissing('pull_request');
  const topic = readTopic(payload, pull, 'pulls');
  const url = linkAt(payload, 'review.html_url') ?? topic.url;
  return { event: 'pull_request_review', ...readCommonFacts(payload, 'review.user'), ...topic, url, state, body: toExcerpt(body) };
}

/** Reads a `pull_request_review` (GitHub). Submitted reviews are posted that approve, request changes or comment. */
export function readReview(payload: Fields): ReviewFacts | string {
  if (stringAt(payload, 'action') !== 'submitted') return explainIgnoredAction('pull_request_review', payload);
  if (objectAt(payload, 'review') === null) return explainMissing('review');
  const state = stringAt(payload, 'review.state').toLowerCase();
  if (isState(state)) return createFacts(payload, state, stringAt(payload, 'review.body'));
  return `a review in state \`${lineAt(payload, bounds.action, 'review.state') || 'unknown'}\` is not posted`;
}

/**
 * Reads what Gitea and Forgejo send for a review: `pull_request_approved`, `pull_request_rejected` or `pull_request_comment`. The action is always `reviewed`.
 */
export const readGiteaReview =
  (state: ReviewFacts['state']) =>
  (payload: Fields): ReviewFacts | string =>
    createFacts(payload, state, stringAt(payload, 'review.content', 'review.body'));

/** The post of a review. */
export function renderReview(facts: ReviewFacts): Embed {
  const { title, color } = states[facts.state];
  return createEmbed(facts, { title: withTopic(title, facts), url: facts.url, color, body: facts.body });
}
