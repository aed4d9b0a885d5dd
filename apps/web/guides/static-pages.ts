import type { ParsedGuide } from './markdown.ts';
import type { GuideNode } from './node.ts';

/** A guide with the name in its address. */
export interface NamedGuide extends ParsedGuide {
  name: string;
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeHtml = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => escapes[character] as string);

function renderNode(node: GuideNode): string {
  if (typeof node === 'string') return escapeHtml(node);
  if ('samples' in node)
    return node.samples
      .map(
        ({ file, text }) => `${file === null ? '' : `<p><code>${escapeHtml(file)}</code></p>`}<pre><code>${escapeHtml(text)}</code></pre>`,
      )
      .join('');
  const { tag, href, children } = node;
  const attributes = `${href === undefined ? '' : ` href="${escapeHtml(href)}"`}${tag === 'table' ? ' class="ref-table"' : ''}`;
  return `<${tag}${attributes}>${children.map(renderNode).join('')}</${tag}>`;
}

const renderLinks = (guides: readonly NamedGuide[]): string =>
  `<ul>${guides
    .map(({ name, title, summary }) => `<li><a href="/developers/guides/${name}">${escapeHtml(title)}</a>: ${escapeHtml(summary)}</li>`)
    .join('')}</ul>`;

/** Puts a title and a text into the built page of the reference. Its scripts replace the text; without them it can be read. */
function fillPage(page: string, { title, summary, html }: { title: string; summary: string; html: string }): string {
  const main = `<main id="guide" class="ref-text">\n<h1>${escapeHtml(title)}</h1>\n<p>${escapeHtml(summary)}</p>\n${html}\n</main>`;
  return page
    .replace(/<title>[^<]*<\/title>/, () => `<title>${escapeHtml(title)} · Parlance for developers</title>`)
    .replace(/<meta name="description" content="[^"]*">/, () => `<meta name="description" content="${escapeHtml(summary)}">`)
    .replace(/\s*<noscript>.*?<\/noscript>/s, '')
    .replace('<div id="app"></div>', () => `${main}\n    <div id="app"></div>`);
}

/** The page of a guide as HTML. `page` is the built page of the reference. */
export function renderGuidePage(page: string, guide: NamedGuide, guides: readonly NamedGuide[]): string {
  const sections = guide.sections.map(
    ({ id, title, nodes }) => `<section id="${id}">\n<h2>${escapeHtml(title)}</h2>\n${nodes.map(renderNode).join('\n')}\n</section>`,
  );
  const markdown = `<p><a href="/developers/guides/${guide.name}.md">This page as Markdown</a></p>`;
  return fillPage(page, { ...guide, html: `${markdown}\n${sections.join('\n')}\n<nav><h2>Guides</h2>${renderLinks(guides)}</nav>` });
}

/** The page that lists all guides as HTML. */
export const renderGuideList = (page: string, guides: readonly NamedGuide[]): string =>
  fillPage(page, { title: 'Guides', summary: 'How to write bots for Parlance.', html: renderLinks(guides) });
