import { signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/dialog.tsx';
import { Field, TextField } from '../ui/form.tsx';
import type { Operation } from './reference-data.ts';
import { buildRequest, type FormField, type FormRequest, fieldKey, InvalidForm, listFormFields } from './request-form.ts';
import { bodyExample, rawBodyType, takesFiles } from './samples.ts';
import { type Result, ResultView, sendRequest } from './try-result.tsx';

/** The bot's token. It is kept in this variable only, so it is gone when the page is closed or reloaded. */
const botToken = signal('');

/** Whether an operation takes something away that it cannot give back, so that the page asks before it is sent. */
const isDestructive = ({ method, id }: Operation): boolean => method === 'DELETE' || /^(?:reset|replace|ban|kick|leave|end)/.test(id);

function FormInput({
  field,
  value,
  fault,
  onValue,
}: {
  field: FormField;
  value: string;
  fault?: string;
  onValue: (value: string) => void;
}): JSX.Element {
  const label = `${field.name}${field.isRequired ? ' (required)' : ''}`;
  if (field.kind !== 'choice')
    return (
      <TextField
        label={label}
        value={value}
        onValue={onValue}
        error={fault}
        autocomplete="off"
        {...(field.kind === 'json' && { hint: 'As JSON.' })}
        {...(field.isLong && { lines: field.in === 'whole' ? 8 : 3 })}
      />
    );
  return (
    <Field label={label} error={fault}>
      {(tie) => (
        <select {...tie} value={value} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
          <option value="">Not sent</option>
          {field.choices.map((one) => (
            <option key={one} value={one}>
              {one.replace(/^"(.*)"$/, '$1')}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function FileInput({ isMany, onFiles }: { isMany: boolean; onFiles: (files: File[]) => void }): JSX.Element {
  return (
    <Field label={isMany ? 'Files' : 'File'}>
      {(tie) => (
        <input {...tie} type="file" multiple={isMany} onChange={({ currentTarget }) => onFiles([...(currentTarget.files ?? [])])} />
      )}
    </Field>
  );
}

/** The form that sends an operation from the page with the token of the reader's bot, never with the session of the person. */
function RequestForm({ operation }: { operation: Operation }): JSX.Element {
  const fields = listFormFields(operation);
  const values = useSignal<Readonly<Record<string, string>>>(
    fields.some((one) => one.in === 'whole') ? { 'whole.Body': JSON.stringify(bodyExample(operation), null, 2) } : {},
  );
  const files = useSignal<readonly File[]>([]);
  const faults = useSignal<Readonly<Record<string, string>>>({});
  const result = useSignal<Result | null>(null);
  const asked = useSignal<FormRequest | null>(null);
  const busy = useSignal(false);

  const send = async (request: FormRequest): Promise<void> => {
    busy.value = true;
    result.value = null;
    result.value = await sendRequest(operation, request, botToken.value.trim());
    busy.value = false;
  };
  const submit = (): void => {
    const hasToken = operation.callers === 'none' || botToken.value.trim() !== '';
    faults.value = hasToken ? {} : { token: 'Enter your bot’s token.' };
    try {
      const request = buildRequest(operation, values.value, files.value);
      if (!hasToken) return;
      if (isDestructive(operation)) asked.value = request;
      else void send(request);
    } catch (error) {
      if (!(error instanceof InvalidForm)) throw error;
      faults.value = { ...faults.value, ...error.faults };
    }
  };
  const input = (field: FormField): JSX.Element => {
    const key = fieldKey(field);
    return (
      <FormInput
        key={key}
        field={field}
        value={values.value[key] ?? ''}
        fault={faults.value[key]}
        onValue={(value) => (values.value = { ...values.value, [key]: value })}
      />
    );
  };
  const headers = fields.filter((one) => one.in === 'header');
  return (
    <form
      class="ref-form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {operation.callers === 'account' && (
        <TextField
          label="Bot token"
          type="password"
          value={botToken.value}
          onValue={(value) => (botToken.value = value)}
          error={faults.value.token}
          hint="Stays on this page: it is not stored, and is gone after a reload."
          autocomplete="off"
        />
      )}
      {fields.filter((one) => one.in !== 'header').map(input)}
      {takesFiles(operation) && <FileInput isMany={rawBodyType(operation) === undefined} onFiles={(chosen) => (files.value = chosen)} />}
      {headers.length > 0 && (
        <details class="ref-details">
          <summary>Request headers</summary>
          <div class="ref-form">{headers.map(input)}</div>
        </details>
      )}
      <Button type="submit" variant="main" busy={busy.value}>
        Send
      </Button>
      <div role="status">{result.value && <ResultView result={result.value} />}</div>
      {asked.value && (
        <Confirm
          title={`${operation.title}?`}
          action={`Send ${operation.method}`}
          run={() => send(asked.value as FormRequest)}
          onClose={() => (asked.value = null)}
        >
          <p>This changes real data and cannot be undone.</p>
          <p>
            <code>
              {operation.method} {asked.value.url}
            </code>
          </p>
        </Confirm>
      )}
    </form>
  );
}

/** A button that opens the form of an operation. People’s own operations have none, because the page never uses their session. */
export function TryIt({ operation }: { operation: Operation }): JSX.Element | null {
  const isOpen = useSignal(false);
  const id = useId();
  if (operation.callers === 'person') return null;
  return (
    <div class="ref-try">
      <Button
        aria-expanded={isOpen.value}
        aria-controls={id}
        aria-label={`${isOpen.value ? 'Close' : 'Try it'}: ${operation.id}`}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        {isOpen.value ? 'Close' : 'Try it'}
      </Button>
      <div id={id}>{isOpen.value && <RequestForm operation={operation} />}</div>
    </div>
  );
}
