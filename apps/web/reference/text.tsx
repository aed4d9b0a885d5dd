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

const splitCells = (row: string): string[] => row.replace(/^\s*\||\|\s*$/g, '').split('|');

/** A table in Markdown: a row of headings, a row of dashes, and the other rows. */
function Table({ lines: [head = '', , ...rows] }: { lines: readonly string[] }): JSX.Element {
  return (
    <div class="ref-scroll" tabIndex={0} role="group" aria-label="Table">
      <table class="ref-table">
        <thead>
          <tr>
            {splitCells(head).map((cell, index) => (
              <th key={index}>{renderInline(cell.trim())}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {splitCells(row).map((cell, index) => (
                <td key={index}>{renderInline(cell.trim())}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const listMark = /^\s*(?:[-*]|\d+\.) /;

function Block({ block }: { block: string }): JSX.Element {
  const lines = block.split('\n');
  if (lines[1] && /^\s*\|[\s:|-]+$/.test(lines[1])) return <Table lines={lines} />;
  const [first = ''] = lines;
  if (!listMark.test(first)) return <p>{renderInline(lines.join(' '))}</p>;
  const List = /^\s*\d/.test(first) ? 'ol' : 'ul';
  const items = block.split(/^\s*(?:[-*]|\d+\.) /m).filter((item) => item.trim() !== '');
  return (
    <List>
      {items.map((item, index) => (
        <li key={index}>{renderInline(item.trim().replace(/\n\s*/g, ' '))}</li>
      ))}
    </List>
  );
}

/** Text of the documents: paragraphs, lists and tables, with code, bold text and links, in Markdown. */
export function Text({ text, class: name = 'ref-text' }: { text: string; class?: string }): JSX.Element | null {
  if (text.trim() === '') return null;
  return (
    <div class={name}>
      {text
        .trim()
        .split(/\n\s*\n/)
        .map((block, index) => (
          <Block key={index} block={block} />
        ))}
    </div>
  );
}
