import { type Signal, signal } from '@preact/signals';
import { type ComponentChildren, h, type JSX } from 'preact';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy.tsx';
import type { CodeSample, GuideNode } from './node.ts';
import './guides.css';

/** The address that the guides name as that of the installation. The pages show their own instead. */
const exampleUrl = 'http://localhost:8080';

const names: Record<string, string> = {
  js: 'JavaScript',
  py: 'Python',
  sh: 'Shell',
  ini: 'systemd',
  dockerfile: 'Dockerfile',
  text: 'Output',
};

/** The language that the reader chose last, on all guides. */
const language: Signal<string> = signal('js');

const toOwnAddress = (text: string): string => text.replaceAll(exampleUrl, location.origin);

/** A program, part of one, or a command. If there is more than one language, the reader chooses. */
function Code({ samples }: { samples: readonly CodeSample[] }): JSX.Element | null {
  const sample = samples.find((one) => one.language === language.value) ?? samples[0];
  if (!sample) return null;
  const text = toOwnAddress(sample.text);
  const name = names[sample.language] ?? sample.language;
  return (
    <div class="guide-code">
      <div class="guide-code-head">
        {samples.length > 1 ? (
          <div class="choice" role="group" aria-label="Language">
            {samples.map((one) => (
              <Button key={one.language} aria-pressed={one === sample} onClick={() => (language.value = one.language)}>
                {names[one.language] ?? one.language}
              </Button>
            ))}
          </div>
        ) : (
          <span class="soft">{name}</span>
        )}
        {sample.file && <code>{sample.file}</code>}
        <CopyButton text={text} what={sample.file ? `the code of ${sample.file}` : 'this'} />
      </div>
      <pre tabIndex={0} role="group" aria-label={sample.file ?? name}>
        <code>{text}</code>
      </pre>
    </div>
  );
}

function renderNode(node: GuideNode, key: number): ComponentChildren {
  if (typeof node === 'string') return toOwnAddress(node);
  if ('samples' in node) return <Code key={key} samples={node.samples} />;
  const { tag, href, children } = node;
  const element = h(tag, { key, ...(href === undefined ? {} : { href: toOwnAddress(href) }) }, renderNodes(children));
  if (tag !== 'table') return element;
  return (
    <div key={key} class="guide-table" tabIndex={0} role="group" aria-label="Table">
      {element}
    </div>
  );
}

/** Shows parts of a guide. */
export const renderNodes = (nodes: readonly GuideNode[]): ComponentChildren[] => nodes.map(renderNode);
