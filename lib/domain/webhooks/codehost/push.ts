import { escapeMarkup } from '../../../base/markup-escape.ts';
import type { Embed } from '../../../contract/embed.ts';
import { colors, createEmbed, formatCountOf } from './embed.ts';
import { bounds, type Fields, flagAt, lineAt, linkAt, numberAt, objectsAt, stringAt, toLine } from './payload.ts';
import { type CommonFacts, readCommonFacts } from './subject.ts';

/** A commit of a push: the beginning of its id (empty if it has none) and the first line of its message. */
interface Commit {
  id: string;
  message: string;
  author: string;
  url: string | null;
}

/** The facts about a push to a branch. */
export interface PushFacts extends CommonFacts {
  event: 'push';
  branch: string;
  forced: boolean;
  created: boolean;
  /** How many commits were pushed; `commits` holds the first five. */
  total: number;
  commits: Commit[];
  compare: string | null;
  /** The beginnings of the ids of the last commits before and after the push, if it has no commits; empty if they are unknown. */
  moved?: { from: string; to: string };
}

const zeroSha = /^0{40,64}$/;
const shortShaChars = 7;

/** The beginning of a commit's id; empty if it is none. */
const shortSha = (sha: string): string => (/^[0-9a-f]{7,64}$/i.test(sha) ? sha.slice(0, shortShaChars) : '');

function readCommit(commit: Fields): Commit {
  const message = /^[^\r\n]*/.exec(stringAt(commit, 'message').trimStart())?.[0] ?? '';
  return {
    id: shortSha(stringAt(commit, 'id', 'sha')),
    message: toLine(message, bounds.commitLine),
    author: lineAt(commit, bounds.name, 'author.username', 'author.name', 'committer.username', 'committer.name'),
    url: linkAt(commit, 'url'),
  };
}

/** The link to the comparison; null if there is none. For a new branch, for example, Gitea sends the address of the host itself. */
function readCompareUrl(payload: Fields): string | null {
  const link = linkAt(payload, 'compare_url', 'compare');
  return link?.includes('/compare/') ? link : null;
}

/**
 * Whether a push without commits moved an existing branch to an older commit. GitHub says that it is forced. Gitea, Forgejo and Gogs don't, but list all commits
 * of any other push.
 */
function isRewind(payload: Fields): boolean {
  if (flagAt(payload, 'forced')) return true;
  const [before, after] = [stringAt(payload, 'before'), stringAt(payload, 'after')];
  return payload.forced === undefined && !zeroSha.test(before) && shortSha(before) !== '' && shortSha(after) !== '' && before !== after;
}

/**
 * Reads a `push`. Returns the reason if it is not posted: tags, deletes, and pushes without commits that are not forced (docs/behavior/webhooks.md#events).
 */
export function readPush(payload: Fields): PushFacts | string {
  const ref = stringAt(payload, 'ref');
  if (ref === '') return 'a push without a branch';
  if (flagAt(payload, 'deleted') || zeroSha.test(stringAt(payload, 'after')))
    return 'a push that deletes a branch or tag is posted as `delete`';
  if (ref.startsWith('refs/tags/')) return 'a push to a tag is posted as `create`';
  if (ref.startsWith('refs/') && !ref.startsWith('refs/heads/')) return 'a push to neither a branch nor a tag';
  const commits = objectsAt(payload, 'commits');
  const isMoved = commits.length === 0;
  if (isMoved && !isRewind(payload)) return 'a push without commits';
  return {
    event: 'push',
    ...readCommonFacts(payload, 'pusher'),
    branch: toLine(ref.replace('refs/heads/', ''), bounds.branch),
    forced: isMoved || flagAt(payload, 'forced'),
    created: flagAt(payload, 'created') || zeroSha.test(stringAt(payload, 'before')),
    total: Math.max(numberAt(payload, 'total_commits') ?? 0, commits.length),
    commits: commits.slice(0, bounds.commits).map(readCommit),
    compare: readCompareUrl(payload),
    ...(isMoved ? { moved: { from: shortSha(stringAt(payload, 'before')), to: shortSha(stringAt(payload, 'after')) } } : {}),
  };
}

/** One or two lines: the message and its author, and the URL if there is one. The URL has its own line because our markup has no links with a text. */
function commitLines({ id, message, author, url }: Commit): string[] {
  const text = escapeMarkup([message || '(no message)', author].filter((part) => part !== '').join(' – '));
  return [id === '' ? text : `\`${id}\` ${text}`, ...(url === null ? [] : [`<${url}>`])];
}

/** The title and text of a force-push without commits: where the branch was, and where it is now. */
const describeMove = ({ from, to }: { from: string; to: string }): { title: string; lines: string[] } => ({
  title: to === '' ? 'Force-pushed' : `Force-pushed to ${to}`,
  lines: from === '' || to === '' ? [] : [`\`${from}\` → \`${to}\``],
});

/** The post of a push: the branch, the total number of commits, the first five of them, and a link to the rest. */
export function renderPush(facts: PushFacts): Embed {
  const { branch, forced, created, total, commits, compare, moved } = facts;
  if (moved) return createEmbed(facts, { branch, ...describeMove(moved), url: compare, color: colors.forced });
  const more = total - commits.length;
  const rest = more > 0 ? [`… and ${formatCountOf(more, 'more commit')}${compare === null ? '' : `: <${compare}>`}`] : [];
  return createEmbed(facts, {
    branch,
    title: `${formatCountOf(total, 'new commit')}${created ? ' on a new branch' : ''}${forced ? ' (force-pushed)' : ''}`,
    url: total === 1 ? (commits[0]?.url ?? compare) : compare,
    color: forced ? colors.forced : colors.push,
    lines: [...commits.flatMap(commitLines), ...rest],
  });
}
