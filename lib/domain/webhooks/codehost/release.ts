import type { Embed } from '../../../contract/embed.ts';
import { colors, createEmbed } from './embed.ts';
import { toExcerpt } from './excerpt.ts';
import {
  bounds,
  explainIgnoredAction,
  explainMissing,
  type Fields,
  flagAt,
  lineAt,
  linkAt,
  objectAt,
  stringAt,
  toLink,
} from './payload.ts';
import { type CommonFacts, readCommonFacts } from './subject.ts';

/** The facts about a release. */
export interface ReleaseFacts extends CommonFacts {
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
  if (stringAt(payload, 'action') !== 'published') return explainIgnoredAction('release', payload);
  const release = objectAt(payload, 'release');
  if (release === null) return explainMissing('release');
  const common = readCommonFacts(payload, 'release.author');
  // Gogs sends no link to a release.
  const fallbackUrl = common.repository?.url ? toLink(`${common.repository.url}/releases`) : null;
  return {
    event: 'release',
    ...common,
    name: lineAt(release, bounds.title, 'name', 'tag_name'),
    url: linkAt(release, 'html_url') ?? fallbackUrl,
    tag: lineAt(release, bounds.branch, 'tag_name'),
    early: flagAt(release, 'prerelease'),
    body: toExcerpt(stringAt(release, 'body')),
  };
}

/** The post of a release. */
export function renderRelease(facts: ReleaseFacts): Embed {
  const { name, url, tag, early, body } = facts;
  const title = early ? 'Pre-release published' : 'Release published';
  return createEmbed(facts, {
    title: name === '' ? title : `${title}: ${name}`,
    url,
    color: colors.release,
    body,
    footer: tag === name ? '' : tag,
  });
}
