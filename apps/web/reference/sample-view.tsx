import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { readStored, writeStored } from '../ui/browser-storage.ts';
import { Code } from './code.tsx';
import { exampleOf, givenExample } from './example.ts';
import type { Operation } from './reference-data.ts';
import { type Language, languages, toSample } from './samples.ts';

const key = 'parlance.reference.language';
const names = Object.keys(languages) as Language[];

/** The language of all samples, remembered in this browser. */
export const language = signal<Language>(names.find((one) => one === readStored(key)) ?? 'curl');

/** The choice of the language of all samples, between those that are `offered`. */
export function LanguageChoice({ offered, chosen }: { offered: readonly Language[]; chosen: Language | undefined }): JSX.Element {
  return (
    <div class="ref-languages" role="group" aria-label="Language of the samples">
      {offered.map((one) => (
        <button
          key={one}
          type="button"
          aria-pressed={one === chosen}
          onClick={() => {
            language.value = one;
            writeStored(key, one);
          }}
        >
          {languages[one]}
        </button>
      ))}
    </div>
  );
}

/** The code that sends an operation, in the chosen language. */
export function SampleView({ operation }: { operation: Operation }): JSX.Element {
  const sample = toSample(operation, language.value);
  return (
    <>
      <Code
        code={sample ?? toSample(operation, 'curl') ?? ''}
        what={`the code of ${operation.id} in ${languages[sample === null ? 'curl' : language.value]}`}
        head={<LanguageChoice offered={names} chosen={language.value} />}
      />
      {sample === null && <p class="hint">This is not for bots, so the kits have no method for it.</p>}
    </>
  );
}

/** The body of the answer to an operation that succeeds, as an example. */
export function AnswerExample({ operation }: { operation: Operation }): JSX.Element | null {
  const [status, answer] = Object.entries(operation.object.responses).find(([one]) => one.startsWith('2')) ?? [];
  const json = answer?.content?.['application/json'];
  if (!json?.schema) return null;
  const example = givenExample(json) ?? exampleOf(json.schema, { isFull: true });
  return <Code code={JSON.stringify(example, null, 2)} what={`an answer of ${operation.id}`} head={<span>Answer {status}</span>} />;
}
