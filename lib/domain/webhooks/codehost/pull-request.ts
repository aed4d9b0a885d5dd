import type { Embed } from '../../../contract/embed.ts';
import { colors, createEmbed, formatCount, formatCountOf, withTopic } from './embed.ts';
import { toExcerpt } from './excerpt.ts';
import { bounds, explainIgnoredAction, explainMissing, type Fields, flagAt, lineAt, numberAt, objectAt, stringAt } from './payload.ts';
import { type CommonFacts, readCommonFacts, readTopic, type Topic } from './subject.ts';

/** The facts about a pull request. */
export interface PullRequestFacts extends CommonFacts, Topic {
  event: 'pull_request';
  state: 'opened' | 'reopened' | 'ready' | 'merged' | 'closed';
  draft: boolean;
  body: string;
  /** The source and the target branch; either may be empty. */
  from: string;
  into: string;
  /** Changed lines and files; null if the code host does not send them. */
  size: { added: number; removed: number; files: number } | null;
}

/** The title and color of each state. */
const states = {
  opened: { title: 'Pull request opened', color: colors.opened },
  reopened: { title: 'Pull request reopened', color: colors.opened },
  ready: { title: 'Pull request ready for review', color: colors.opened },
  merged: { title: 'Pull request merged', color: colors.merged },
  closed: { title: 'Pull request closed', color: colors.closed },
} as const;

const actions = new Map<string, PullRequestFacts['state']>([
  ['opened', 'opened'],
  ['reopened', 'reopened'],
  ['ready_for_review', 'ready'],
]);

/** The state that an action leads to; undefined for an action that is not posted. */
function readState(action: string, pull: Fields): PullRequestFacts['state'] | undefined {
  if (action === 'closed') return flagAt(pull, 'merged') ? 'merged' : 'closed';
  return actions.get(action);
}

function readSize(pull: Fields): PullRequestFacts['size'] {
  const [added, removed, files] = [numberAt(pull, 'additions'), numberAt(pull, 'deletions'), numberAt(pull, 'changed_files')];
  return added === null || removed === null || files === null ? null : { added, removed, files };
}

/** Reads a `pull_request`. Posted are: opened, reopened, ready for review, merged (closed and merged), closed. */
export function readPullRequest(payload: Fields): PullRequestFacts | string {
  const pull = objectAt(payload, 'pull_request');
  const state = readState(stringAt(payload, 'action'), pull ?? {});
  if (state === undefined) return explainIgnoredAction('pull_request', payload);
  if (pull === null) return explainMissing('pull_request');
  return {
    event: 'pull_request',
    ...readCommonFacts(payload, 'pull_request.user'),
    ...readTopic(payload, pull, 'pulls'),
    state,
    draft: flagAt(pull, 'draft'),
    body: state === 'opened' || state === 'ready' ? toExcerpt(stringAt(pull, 'body')) : '',
    from: lineAt(pull, bounds.branch, 'head.ref', 'head_branch'),
    into: lineAt(pull, bounds.branch, 'base.ref', 'base_branch'),
    size: readSize(pull),
  };
}

/** The post of a pull request. A draft is gray. */
export function renderPullRequest(facts: PullRequestFacts): Embed {
  const { state, draft, url, body, from, into, size } = facts;
  const { title, color } = states[state];
  const isDraft = draft && (state === 'opened' || state === 'reopened');
  const branches = from !== '' && into !== '' ? `${from} → ${into}` : '';
  const changed = size === null ? '' : `+${formatCount(size.added)} −${formatCount(size.removed)} in ${formatCountOf(size.files, 'file')}`;
  return createEmbed(facts, {
    title: withTopic(isDraft ? title.replace('Pull', 'Draft pull') : title, facts),
    url,
    color: isDraft ? colors.draft : color,
    body,
    footer: [branches, changed].filter((part) => part !== '').join(' · '),
  });
}
