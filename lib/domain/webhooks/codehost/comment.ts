import type { Embed } from '../../../contract/message.ts';
import { excerptOf } from './excerpt.ts';
import { about, colors, embedOf } from './look.ts';
import { type Fields, flagAt, linkAt, linkOf, numberAt, objectAt, rawAt, without, wrongAction } from './read.ts';
import { type Common, commonOf, type Topic, topicOf } from './subject.ts';

/** The facts about a comment. `url` is the URL of the comment. */
export interface CommentFacts extends Common, Topic {
  event: 'issue_comment';
  on: 'issue' | 'pull request';
  body: string;
}

/** Reads an `issue_comment`. Only new comments are posted, on issues and on pull requests. */
export function readComment(payload: Fields): CommentFacts | string {
  if (rawAt(payload, 'action') !== 'created') return wrongAction('issue_comment', payload);
  const [issue, comment] = [objectAt(payload, 'issue'), objectAt(payload, 'comment')];
  if (issue === null) return without('issue');
  if (comment === null) return without('comment');
  const pull = objectAt(issue, 'pull_request') !== null || flagAt(payload, 'is_pull');
  const topic = topicOf(payload, issue, pull ? 'pulls' : 'issues');
  // Gogs sends no link to a comment.
  const id = numberAt(comment, 'id');
  const own = topic.url === null || id === null ? topic.url : linkOf(`${topic.url}#issuecomment-${id}`);
  return {
    event: 'issue_comment',
    ...commonOf(payload, 'comment.user'),
    ...topic,
    url: linkAt(comment, 'html_url') ?? own,
    on: pull ? 'pull request' : 'issue',
    body: excerptOf(rawAt(comment, 'body')),
  };
}

/** The post of a comment. */
export const renderComment = (facts: CommentFacts): Embed =>
  embedOf(facts, { title: about(`New comment on ${facts.on}`, facts), url: facts.url, color: colors.comment, body: facts.body });
