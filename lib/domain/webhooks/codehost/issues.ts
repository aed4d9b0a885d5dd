import type { Embed } from '../../../contract/embed.ts';
import { colors, createEmbed, withTopic } from './embed.ts';
import { toExcerpt } from './excerpt.ts';
import { explainIgnoredAction, explainMissing, type Fields, objectAt, stringAt } from './payload.ts';
import { type CommonFacts, readCommonFacts, readTopic, type Topic } from './subject.ts';

/** The facts about an issue. */
export interface IssuesFacts extends CommonFacts, Topic {
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

function readState(action: string, issue: Fields): IssuesFacts['state'] | undefined {
  if (action === 'opened' || action === 'reopened') return action;
  if (action !== 'closed') return undefined;
  const reason = stringAt(issue, 'state_reason');
  return reason === 'not_planned' || reason === 'duplicate' ? reason : 'closed';
}

/** Reads an `issues` event. Posted are: opened, reopened, closed. */
export function readIssues(payload: Fields): IssuesFacts | string {
  const issue = objectAt(payload, 'issue');
  const state = readState(stringAt(payload, 'action'), issue ?? {});
  if (state === undefined) return explainIgnoredAction('issues', payload);
  if (issue === null) return explainMissing('issue');
  return {
    event: 'issues',
    ...readCommonFacts(payload, 'issue.user'),
    ...readTopic(payload, issue, 'issues'),
    state,
    body: state === 'opened' ? toExcerpt(stringAt(issue, 'body')) : '',
  };
}

/** The post of an issue. */
export function renderIssues(facts: IssuesFacts): Embed {
  const { title, color } = states[facts.state];
  return createEmbed(facts, { title: withTopic(title, facts), url: facts.url, color, body: facts.body });
}
