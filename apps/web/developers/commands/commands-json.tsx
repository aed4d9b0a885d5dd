import type { JSX } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { Button } from '../../ui/button.tsx';
import type { FieldErrors } from './field-errors.ts';
import { lineAt, readJson } from './json-lines.ts';

interface Mark {
  line: number;
  message: string;
}

/** Returns the errors by line: the syntax error while the text is not valid JSON, otherwise the errors of the API. */
function marksOf(text: string, errors: FieldErrors): Mark[] {
  const read = readJson(text);
  if (!read.ok) return [{ line: read.line, message: read.message }];
  return errors.map(({ path, message }) => ({ line: lineAt(read.lines, path), message: `${path} ${message}` }));
}

/** Selects a line, which scrolls to it and lets the user type over it. */
function goTo(field: HTMLTextAreaElement | null, line: number): void {
  if (!field) return;
  const lines = field.value.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  field.focus();
  field.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  field.scrollIntoView({ block: 'nearest' });
}

/** A list of commands as JSON with line numbers. Each error is shown with its line and jumps to it. */
export function CommandsJson({ text, errors, onText }: { text: string; errors: FieldErrors; onText: (text: string) => void }): JSX.Element {
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const marks = marksOf(text, errors);
  const count = text.split('\n').length;
  return (
    <div class="field">
      <label for={id}>Commands as JSON</label>
      <div class="commands-json">
        <div class="commands-lines" aria-hidden="true">
          {Array.from({ length: count }, (_none, at) => at + 1).join('\n')}
          {[...new Set(marks.map(({ line }) => line))].map((line) => (
            <span key={line} class="commands-mark" style={{ '--line': line - 1 }} />
          ))}
        </div>
        <textarea
          id={id}
          ref={field}
          class="commands-text"
          rows={Math.max(count, 8)}
          wrap="off"
          spellcheck={false}
          autocomplete="off"
          value={text}
          aria-describedby={`${id}-errors`}
          aria-invalid={marks.length > 0 || undefined}
          onInput={({ currentTarget }) => onText(currentTarget.value)}
        />
      </div>
      <div id={`${id}-errors`} role="status">
        <ul>
          {marks.map(({ line, message }) => (
            <li key={`${line} ${message}`}>
              <Button variant="quiet" onClick={() => goTo(field.current, line)}>
                Line {line}
              </Button>{' '}
              <span class="field-error">{message}</span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
