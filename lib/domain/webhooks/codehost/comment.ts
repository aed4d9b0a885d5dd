import type { Embed } from '../../../contract/embed.ts';
import { colors, createEmbed, withTopic } from './embed.ts';
import { toExcerpt } from './excerpt.ts';
import { explainIgnoredAction, explainMissing, type Fields, flagAt, linkAt, numberAt, objectAt, stringAt, toLink } from './payload.ts';
import { type CommonFacts, readCommonFacts, readTopic, type Topic } from './subject.ts';

/** The facts about a comment. `url` is the URL of the comment. */
export interface CommentFacts extends CommonFacts, Topic {
  event: 'issue_comment';
  on: 'issue' | 'pull request';
  body: string;
}

/** Reads an `issue_comment`. Only new comments are posted, on issues and on pull requests. */
export function readComment(payload: Fields): CommentFacts | string {
  if (stringAt(payload, 'action') !== 'created') return explainIgnoredAction('issue_comment', payload);
  const [issue, comment] = [objectAt(payload, 'issue'), objectAt(payload, 'comment')];
  if (issue === null) return explainMissing('issue');
  if (comment === null) return explainMissing('comment');
  const isPullRequest = objectAt(issue, 'pull_request') !== null || flagAt(payload, 'is_pull');
  const topic = readTopic(payload, issue, isPullRequest ? 'pulls' : 'issues');
  // Gogs sends no link to a comment.
  const id = numberAt(comment, 'id');
  const fallbackUrl = topic.url === null || id === null ? topic.url : toLink(`${topic.url}#issuecomment-${id}`);
  return {
    event: 'issue_comment',
    ...readCommonFacts(payload, 'comment.user'),
    ...topic,
    url: linkAt(comment, 'html_url') ?? fallbackUrl,
    on: isPullRequest ? 'pull request' : 'issue',
    body: toExcerpt(stringAt(comment, 'body')),
  };
}

/** The post of a comment. */
export const renderComment = (facts: CommentFacts): Embed =>
  createEmbed(facts, { title: withTopic(`New comment on ${facts.on}`, facts), url: facts.url, color: colors.comment, body: facts.body });
