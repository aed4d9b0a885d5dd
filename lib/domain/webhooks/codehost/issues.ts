import type { Embed } from '../../../contract/message.ts';
import { excerptOf } from './excerpt.ts';
import { about, colors, embedOf } from './look.ts';
import { type Fields, objectAt, rawAt, without, wrongAction } from './read.ts';
import { type Common, commonOf, type Topic, topicOf } from './subject.ts';

/** The facts about an issue. */
export interface IssuesFacts extends Common, Topic {
  event: 'issues';
  state: 'opened' | 'reopened' | 'closed' | 'not_planned' | 'duplicate';
  body: string;
}

const states = {
  opened: { title: 'Issue opened', color: colors.opened },
  reopened: { title: 'Issue reopened', color: colors.opened },
  closed: { title: 'Issue closed', color: colors.closed },
  not_planned: { title: 'Issue closed as not planned', color: colors.cancelled },
  duplicate: { title: 'Issue closed as duplicate', color: colors.cancelled },
} as const;

function stateOf(action: string, issue: Fields): IssuesFacts['state'] | undefined {
  if (action === 'opened' || action === 'reopened') return action;
  if (action !== 'closed') return undefined;
  const reason = rawAt(issue, 'state_reason');
  return reason === 'not_planned' || reason === 'duplicate' ? reason : 'closed';
}

/** Reads an `issues` event. Posted are: opened, reopened, closed. */
export function readIssues(payload: Fields): IssuesFacts | string {
  const issue = objectAt(payload, 'issue');
  const state = stateOf(rawAt(payload, 'action'), issue ?? {});
  if (state === undefined) return wrongAction('issues', payload);
  if (issue === null) return without('issue');
  return {
    event: 'issues',
    ...commonOf(payload, 'issue.user'),
    ...topicOf(payload, issue, 'issues'),
    state,
    body: state === 'opened' ? excerptOf(rawAt(issue, 'body')) : '',
  };
}

/** The post of an issue. */
export function renderIssues(facts: IssuesFacts): Embed {
  const { title, color } = states[facts.state];
  return embedOf(facts, { title: about(title, facts), url: facts.url, color, body: facts.body });
}
