import { lexer, type Token, type Tokens } from 'marked';
import type { CodeSample, GuideNode, GuideSection } from './node.ts';

/** The READMEs of the kits, which are shown as guides. */
const kitFiles: Record<string, string> = { 'javascript-kit': 'sdk/javascript/README.md', 'python-kit': 'sdk/python/README.md' };

/** The guides in the order of the navigation. */
export const guideNames = [
  'first-bot',
  'slash-commands',
  'https',
  'events',
  'permissions',
  'files',
  'errors',
  'moderation-bot',
  'code-host',
  'deploying',
  'from-discord',
  'without-a-kit',
  ...Object.keys(kitFiles),
];

/** The file of a guide, in the repository. */
export const toGuideFile = (name: string): string => kitFiles[name] ?? `docs/guides/${name}.md`;

/** A guide as the build reads it. */
export interface ParsedGuide {
  title: string;
  /** The first paragraph, as plain text. */
  summary: string;
  sections: GuideSection[];
}

/** The pages that show what documents outside of the guides describe. */
const referencePages: Record<string, string> = {
  '../delivery.md': '/developers/reference/gateway',
  '../delivery.md#events': '/developers/reference/events',
  '../behavior/requests.md#error-codes': '/developers/reference/errors',
  ...Object.fromEntries(Object.entries(kitFiles).map(([name, file]) => [`../../${file}`, `/developers/guides/${name}`])),
};

/** The address on the pages of a link in a guide. Documents that no page shows lead to the reference. */
function toHref(link: string): string {
  const [path = '', anchor] = link.split('#');
  if (!path.endsWith('.md')) return link;
  if (path.startsWith('../')) return referencePages[link] ?? referencePages[path] ?? '/developers/reference';
  return `/developers/guides/${path.replace(/\.md$/, '')}${anchor ? `#${anchor}` : ''}`;
}

/** The Markdown of a guide for readers of the pages: links to documents that no page shows lead to the reference. */
export const toServedMarkdown = (markdown: string): string =>
  markdown.replaceAll(/\]\((\.\.\/[^)\s]+)\)/g, (_, link: string) => `](${toHref(link)})`);

const toInlines = (tokens: readonly Token[] = []): GuideNode[] => tokens.map(toInline);

function toInline(token: Token): GuideNode {
  switch (token.type) {
    case 'codespan':
      return { tag: 'code', children: [(token as Tokens.Codespan).text] };
    case 'strong':
    case 'em':
      return { tag: token.type, children: toInlines((token as Tokens.Strong).tokens) };
    case 'link':
      return { tag: 'a', href: toHref((token as Tokens.Link).href), children: toInlines((token as Tokens.Link).tokens) };
    case 'text':
    case 'escape':
      return (token as Tokens.Text).text;
    default:
      throw new Error(`a guide cannot have ${token.type}: ${token.raw}`);
  }
}

const toCells = (tag: 'th' | 'td', cells: readonly Tokens.TableCell[]): GuideNode => ({
  tag: 'tr',
  children: cells.map((cell) => ({ tag, children: toInlines(cell.tokens) })),
});

/** A fenced block. Its first line is the language and, for a program, `file=` with its name. */
function toSample({ lang = '', text }: Tokens.Code): CodeSample {
  const [language = '', ...rest] = lang.split(' ');
  return { language, file: rest.find((one) => one.startsWith('file='))?.slice(5) ?? null, text };
}

function toBlock(token: Token): GuideNode {
  switch (token.type) {
    case 'paragraph':
      return { tag: 'p', children: toInlines((token as Tokens.Paragraph).tokens) };
    case 'list': {
      const { ordered, items } = token as Tokens.List;
      const children = items.map(
        (item): GuideNode => ({
          tag: 'li',
          children: item.tokens.flatMap((one) => ('tokens' in one ? toInlines(one.tokens) : [toBlock(one)])),
        }),
      );
      return { tag: ordered ? 'ol' : 'ul', children };
    }
    case 'table': {
      const { header, rows } = token as Tokens.Table;
      return {
        tag: 'table',
        children: [
          { tag: 'thead', children: [toCells('th', header)] },
          { tag: 'tbody', children: rows.map((row) => toCells('td', row)) },
        ],
      };
    }
    case 'code':
      return { samples: [toSample(token as Tokens.Code)] };
    default:
      throw new Error(`a guide cannot have ${token.type}: ${token.raw}`);
  }
}

/** Joins the same program in several languages to one block, of which the reader chooses the language. */
function joinSamples(nodes: readonly GuideNode[]): GuideNode[] {
  const joined: GuideNode[] = [];
  for (const node of nodes) {
    const last = joined.at(-1);
    const areLanguages =
      typeof node === 'object' && 'samples' in node && typeof last === 'object' && 'samples' in last && last.samples.at(-1)?.file !== null;
    if (areLanguages && node.samples[0]?.file !== null) last.samples.push(...node.samples);
    else joined.push(node);
  }
  return joined;
}

/** The text of a node without marks, for the search. */
function toPlainText(node: GuideNode): string {
  if (typeof node === 'string') return node;
  if ('samples' in node) return node.samples.map(({ text }) => text).join(' ');
  return node.children.map(toPlainText).join(['tr', 'ul', 'ol', 'thead', 'tbody', 'table'].includes(node.tag) ? ' ' : '');
}

const toAnchor = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

/** Reads a guide: a heading, one paragraph that says what it is for, and sections. */
export function parseGuide(markdown: string): ParsedGuide {
  const [heading, summary, ...tokens] = lexer(markdown).filter(({ type }) => type !== 'space');
  if (heading?.type !== 'heading' || summary?.type !== 'paragraph') throw new Error('a guide begins with a heading and a paragraph');
  const sections: { title: string; nodes: GuideNode[] }[] = [];
  for (const token of tokens) {
    if (token.type === 'heading') sections.push({ title: (token as Tokens.Heading).text, nodes: [] });
    else sections.at(-1)?.nodes.push(toBlock(token));
  }
  return {
    title: (heading as Tokens.Heading).text,
    summary: toPlainText(toBlock(summary)),
    sections: sections.map(({ title, nodes }) => ({
      id: toAnchor(title),
      title,
      text: nodes.map(toPlainText).join(' '),
      nodes: joinSamples(nodes),
    })),
  };
}
