import type { Embed } from '../../../contract/message.ts';
import { type CommentFacts, readComment, renderComment } from './comment.ts';
import { type ForkFacts, readFork, renderFork } from './fork.ts';
import { type IssuesFacts, readIssues, renderIssues } from './issues.ts';
import { colors, counted } from './look.ts';
import { type PingFacts, readPing, renderPing } from './ping.ts';
import { type PullRequestFacts, readPullRequest, renderPullRequest } from './pull-request.ts';
import { type PushFacts, readPush, renderPush } from './push.ts';
import { bounds, type Fields, lineAt, lineOf, objectAt } from './read.ts';
import { type RefFacts, readRef, renderRef } from './refs.ts';
import { type ReleaseFacts, readRelease, renderRelease } from './release.ts';
import { type ReviewFacts, readGiteaReview, readReview, renderReview } from './review.ts';
import { readStar, renderStar, type StarFacts } from './star.ts';
import { readWorkflowRun, renderWorkflowRun, type WorkflowRunFacts } from './workflow-run.ts';

/** The data of a delivery that is needed to post it: small, plain JSON, told apart by `event`. */
export type Facts =
  | PingFacts
  | PushFacts
  | PullRequestFacts
  | ReviewFacts
  | IssuesFacts
  | CommentFacts
  | ReleaseFacts
  | WorkflowRunFacts
  | RefFacts
  | StarFacts
  | ForkFacts;

/** The result of reading a delivery: the facts needed to post it (at most 16 kB as JSON, whatever was sent), or the reason why nothing is posted. */
export type Reading = { action: string | null; facts: Facts } | { action: string | null; ignored: string };

/** The reader of each event name. Other events post nothing. A reader returns a string, the reason, if it posts nothing. */
const readers = new Map<string, (payload: Fields) => Facts | string>([
  ['ping', readPing],
  ['push', readPush],
  ['pull_request', readPullRequest],
  ['pull_request_review', readReview],
  ['pull_request_approved', readGiteaReview('approved')],
  ['pull_request_rejected', readGiteaReview('changes_requested')],
  ['pull_request_comment', readGiteaReview('commented')],
  ['issues', readIssues],
  ['issue_comment', readComment],
  ['release', readRelease],
  ['workflow_run', readWorkflowRun],
  ['create', readRef('create')],
  ['delete', readRef('delete')],
  ['star', readStar],
  ['fork', readFork],
  ['watch', () => '`watch` is sent with every star: `star` tells it'],
]);

/**
 * Reads a delivery of a code host. `event` is the value of its header, `payload` the parsed body. Only the needed fields are read, and each of them may be
 * missing or have another type. Cheap; never throws.
 */
export function readDelivery(event: string, payload: unknown): Reading {
  const action = lineAt(payload, bounds.action, 'action') || null;
  const reader = readers.get(event);
  if (!reader) return { action, ignored: `event \`${lineOf(event, bounds.action)}\` posts nothing` };
  const fields = objectAt(payload, '');
  const facts = fields === null ? 'the payload is no JSON object' : reader(fields);
  return typeof facts === 'string' ? { action, ignored: facts } : { action, facts };
}

/** The embed of a delivery that is posted. Never throws. The embed is always within the limits, mentions nobody, and contains no links but its own. */
export function renderDelivery(facts: Facts): Embed {
  switch (facts.event) {
    case 'ping':
      return renderPing(facts);
    case 'push':
      return renderPush(facts);
    case 'pull_request':
      return renderPullRequest(facts);
    case 'pull_request_review':
      return renderReview(facts);
    case 'issues':
      return renderIssues(facts);
    case 'issue_comment':
      return renderComment(facts);
    case 'release':
      return renderRelease(facts);
    case 'workflow_run':
      return renderWorkflowRun(facts);
    case 'create':
    case 'delete':
      return renderRef(facts);
    case 'star':
      return renderStar(facts);
    case 'fork':
      return renderFork(facts);
  }
}

/** The single post for the deliveries beyond the first 100 that wait (docs/behavior/webhooks.md#overflow). */
export const moreEvents = (count: number): Embed => ({
  title: `… and ${counted(Math.max(1, Math.trunc(count) || 1), 'more event')}`,
  description: 'They came faster than they could be posted here. The code host shows them all.',
  color: colors.notice,
});
