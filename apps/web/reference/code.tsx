import type { ComponentChildren, JSX } from 'preact';
import { CopyButton } from '../ui/copy.tsx';

/** The parts of code that are colored: comments, texts, words of the languages, numbers, and names of fields and variables. */
const tokens =
  /(?<comment>(?<![\w"':])(?:#|\/\/)[^\n]*)|(?<name>"(?:[^"\\\n]|\\.)*"(?=:)|\$\w+)|(?<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<word>\b(?:await|async|const|import|from|def|return|null|true|false|None|True|False|curl|for|in|if|new|with|function|class)\b)|(?<number>\b\d+(?:\.\d+)?\b)/g;

function* highlight(code: string): Generator<ComponentChildren> {
  let end = 0;
  for (const match of code.matchAll(tokens)) {
    const kind = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined)?.[0];
    yield code.slice(end, match.index);
    yield <span class={`code-${kind}`}>{match[0]}</span>;
    end = match.index + match[0].length;
  }
  yield code.slice(end);
}

/** A block of code with a heading and a copy button. `what` names it for a screen reader. */
export function Code({ code, what, head }: { code: string; what: string; head?: ComponentChildren }): JSX.Element {
  return (
    <div class="ref-code">
      <div class="ref-code-head">
        {head}
        <CopyButton text={code} what={what} />
      </div>
      <pre tabIndex={0} role="group" aria-label={what}>
        <code>{[...highlight(code)]}</code>
      </pre>
    </div>
  );
}
