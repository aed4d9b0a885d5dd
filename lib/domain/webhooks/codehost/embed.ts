import { limits } from '../../../base/limits.ts';
import { escapeMarkup } from '../../../base/markup-escape.ts';
import { escapeAndTruncate } from '../../../base/plain-text.ts';
import type { Embed } from '../../../contract/embed.ts';
import type { CommonFacts, Topic } from './subject.ts';

/** Colors by state, close to those of code hosts. */
export const colors = {
  opened: 0x1f883d,
  merged: 0x8250df,
  closed: 0xcf222e,
  draft: 0x6e7781,
  success: 0x1f883d,
  failed: 0xcf222e,
  cancelled: 0x6e7781,
  approved: 0x1f883d,
  changes: 0xcf222e,
  comment: 0x57606a,
  push: 0x0969da,
  forced: 0xbf8700,
  created: 0x0969da,
  deleted: 0x6e7781,
  release: 0x0969da,
  star: 0xeac54f,
  fork: 0x57606a,
  notice: 0x6e7781,
} as const;

/** The content of an event's embed, as plain text. `createEmbed` escapes all of it except `lines`. */
export interface EmbedContent {
  /** Shown in the brackets after the repository, such as a branch. */
  branch?: string;
  /** Shown after the brackets. */
  title: string;
  url: string | null;
  color: number;
  body?: string;
  /** The description, instead of `body`. The caller has escaped it. */
  lines?: string[];
  footer?: string;
}

/**
 * The embed of a post: the author with profile and picture, `[owner/repo:branch] title` with its link, and the color of the state. The parts are joined first
 * and escaped after, so that two texts together cannot form markup.
 */
export function createEmbed(
  { repository, by }: CommonFacts,
  { branch = '', title, url, color, body = '', lines, footer = '' }: EmbedContent,
): Embed {
  const source = [repository?.name ?? '', branch].filter((part) => part !== '').join(':');
  const description = lines ? lines.join('\n') : escapeMarkup(body);
  const link = url ?? repository?.url;
  return {
    ...(by && {
      author: {
        name: escapeAndTruncate(by.name, limits.embedAuthorChars),
        ...(by.url === null ? {} : { url: by.url }),
        ...(by.icon === null ? {} : { iconUrl: by.icon }),
      },
    }),
    title: escapeAndTruncate(source === '' ? title : `[${source}] ${title}`, limits.embedTitleChars),
    ...(link ? { url: link } : {}),
    ...(description === '' ? {} : { description }),
    color,
    ...(footer === '' ? {} : { footer: { text: escapeAndTruncate(footer, limits.embedFooterChars) } }),
  };
}

/** `#12 Title`, or only the part that is known. */
export const toTopicText = ({ number, title }: Topic): string =>
  [number === null ? '' : `#${number}`, title].filter((part) => part !== '').join(' ');

/** `title: #12 Title`, or the title alone if nothing is known of the topic. */
export const withTopic = (title: string, topic: Topic): string => [title, toTopicText(topic)].filter((part) => part !== '').join(': ');

const numbers = new Intl.NumberFormat('en-US');

/** `1,234`. */
export const formatCount = (count: number): string => numbers.format(count);

/** `1 commit`, `2 commits`, `1,234 commits`. */
export const formatCountOf = (count: number, one: string): string => `${formatCount(count)} ${count === 1 ? one : `${one}s`}`;
