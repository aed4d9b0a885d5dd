import type { Embed } from '../../../contract/message.ts';
import { excerptOf } from './excerpt.ts';
import { colors, embedOf } from './look.ts';
import { bounds, type Fields, flagAt, lineAt, linkAt, linkOf, objectAt, rawAt, without, wrongAction } from './read.ts';
import { type Common, commonOf } from './subject.ts';

/** The facts about a release. */
export interface ReleaseFacts extends Common {
  event: 'release';
  /** Its name, or its tag when it has none. */
  name: string;
  url: string | null;
  tag: string;
  early: boolean;
  body: string;
}

/** Reads a `release`. Only `published` is posted, because code hosts also send `created` and `released` for the same release. */
export function readRelease(payload: Fields): ReleaseFacts | string {
  if (rawAt(payload, 'action') !== 'published') return wrongAction('release', payload);
  const release = objectAt(payload, 'release');
  if (release === null) return without('release');
  const common = commonOf(payload, 'release.author');
  // Gogs sends no link to a release.
  const own = common.repository?.url ? linkOf(`${common.repository.url}/releases`) : null;
  return {
    event: 'release',
    ...common,
    name: lineAt(release, bounds.title, 'name', 'tag_name'),
    url: linkAt(release, 'html_url') ?? own,
    tag: lineAt(release, bounds.branch, 'tag_name'),
    early: flagAt(release, 'prerelease'),
    body: excerptOf(rawAt(release, 'body')),
  };
}

/** The post of a release. */
export function renderRelease(facts: ReleaseFacts): Embed {
  const { name, url, tag, early, body } = facts;
  const title = early ? 'Pre-release published' : 'Release published';
  return embedOf(facts, {
    title: name === '' ? title : `${title}: ${name}`,
    url,
    color: colors.release,
    body,
    footer: tag === name ? '' : tag,
  });
}
