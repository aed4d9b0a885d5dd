import { type ComponentChildren, h, type JSX } from 'preact';
import { Code } from '../reference/code.tsx';
import { LanguageChoice, language } from '../reference/sample-view.tsx';
import type { Language } from '../reference/samples.ts';
import type { CodeSample, GuideNode } from './node.ts';

/** The address that the guides name as that of the installation. The pages show their own instead. */
const exampleUrl = 'http://localhost:8080';

/** The names of what is not a program in one of the languages of the reference. */
const names: Record<string, string> = { sh: 'Shell', ini: 'systemd', dockerfile: 'Dockerfile', text: 'Output' };
const languages: Record<string, Language> = { js: 'javascript', py: 'python', python: 'python' };

const toOwnAddress = (text: string): string => text.replaceAll(exampleUrl, location.origin);

/** A program, part of one, or a command. If there is more than one language, the reader chooses. */
function Samples({ samples }: { samples: readonly CodeSample[] }): JSX.Element | null {
  const sample = samples.find((one) => languages[one.language] === language.value) ?? samples[0];
  if (!sample) return null;
  const name = names[sample.language] ?? sample.language;
  const offered = samples.flatMap((one) => languages[one.language] ?? []);
  return (
    <Code
      code={toOwnAddress(sample.text)}
      what={sample.file ? `the code of ${sample.file}` : name}
      head={
        <>
          {offered.length > 0 ? <LanguageChoice offered={offered} chosen={languages[sample.language]} /> : <span>{name}</span>}
          {sample.file && <code>{sample.file}</code>}
        </>
      }
    />
  );
}

function renderNode(node: GuideNode, key: number): ComponentChildren {
  if (typeof node === 'string') return toOwnAddress(node);
  if ('samples' in node) return <Samples key={key} samples={node.samples} />;
  const { tag, href, children } = node;
  const element = h(
    tag,
    { key, ...(href !== undefined && { href: toOwnAddress(href) }), ...(tag === 'table' && { class: 'ref-table' }) },
    renderNodes(children),
  );
  if (tag !== 'table') return element;
  return (
    <div key={key} class="ref-scroll" tabIndex={0} role="group" aria-label="Table">
      {element}
    </div>
  );
}

const renderNodes = (nodes: readonly GuideNode[]): ComponentChildren[] => nodes.map(renderNode);

/** Shows a section of a guide. */
export const renderSection = (nodes: readonly GuideNode[]): JSX.Element => <div class="ref-text">{renderNodes(nodes)}</div>;
