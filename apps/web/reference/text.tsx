import type { ComponentChildren, JSX } from 'preact';

/** Code, bold text or a link within a line. */
const marks = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)/g;

/** Only addresses of this site and of the web become links. */
const isLinkable = (href: string): boolean => /^(?:\/(?!\/)|#|https?:\/\/)/.test(href);

function renderInline(line: string): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const match of line.matchAll(marks)) {
    const [whole, code, bold, label, href = ''] = match;
    parts.push(line.slice(end, match.index));
    if (code !== undefined) parts.push(<code>{code}</code>);
    else if (bold !== undefined) parts.push(<strong>{bold}</strong>);
    else parts.push(isLinkable(href) ? <a href={href}>{label}</a> : label);
    end = match.index + whole.length;
  }
  parts.push(line.slice(end));
  return parts;
}

/** One line of text with code, bold text and links in Markdown. */
export function Line({ text }: { text: string }): JSX.Element {
  return <>{renderInline(text)}</>;
}

/** Text of the documents: paragraphs and lists, with code, bold text and links, in Markdown. */
export function Text({ text, class: name = 'ref-text' }: { text: string; class?: string }): JSX.Element | null {
  const blocks = text.trim().split(/\n\s*\n/);
  if (blocks[0] === '') return null;
  return (
    <div class={name}>
      {blocks.map((block, index) => {
        const lines = block.split('\n');
        if (!lines.every((line) => /^\s*(?:[-*] |\s)/.test(line))) return <p key={index}>{renderInline(lines.join(' '))}</p>;
        return (
          <ul key={index}>
            {block.split(/^\s*[-*] /m).flatMap((item, at) => (item.trim() === '' ? [] : <li key={at}>{renderInline(item.trim())}</li>))}
          </ul>
        );
      })}
    </div>
  );
}
