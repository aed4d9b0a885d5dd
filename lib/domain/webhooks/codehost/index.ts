import type { Embed } from '../../../contract/embed.ts';
import { type CommentFacts, readComment, renderComment } from './comment.ts';
import { colors, formatCountOf } from './embed.ts';
import { type ForkFacts, readFork, renderFork } from './fork.ts';
import { type IssuesFacts, readIssues, renderIssues } from './issues.ts';
import { bounds, type Fields, lineAt, objectAt, toLine } from './payload.ts';
import { type PingFacts, readPing, renderPing } from './ping.ts';
import { type PullRequestFacts, readPullRequest, renderPullRequest } from './pull-request.ts';
import { type PushFacts, readPush, renderPush } from './push.ts';
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

/** The result of reading a delivery: the facts needed to post it (at most 16 kB as JSON, whatever was sent), or the reason why it is not posted. */
export type ParsedDelivery = { action: string | null; facts: Facts } | { action: string | null; ignored: string };

/** The parser of each event name. Other events are not posted. A parser returns the reason as a string if the delivery is not posted. */
const parsers = new Map<string, (payload: Fields) => Facts | string>([
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
  ['watch', () => '`watch` is posted as `star`'],
]);

/**
 * Reads a delivery of a code host. `event` is the value of its header, `payload` the parsed body. Only the needed fields are read, and each of them may be
 * missing or have another type. Cheap; never throws.
 */
export function parseDelivery(event: string, payload: unknown): ParsedDelivery {
  const action = lineAt(payload, bounds.action, 'action') || null;
  const parser = parsers.get(event);
  if (!parser) return { action, ignored: `event \`${toLine(event, bounds.action)}\` is not posted` };
  const fields = objectAt(payload, '');
  const facts = fields === null ? 'the payload is not a JSON object' : parser(fields);
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
export const renderOverflow = (count: number): Embed => ({
  title: `… and ${formatCountOf(Math.max(1, Math.trunc(count) || 1), 'more event')}`,
  description: 'These events arrived faster than they could be posted here. You can see all of them on the code host.',
  color: colors.notice,
});
