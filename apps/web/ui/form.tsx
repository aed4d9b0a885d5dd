import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { type ApiError, asApiError } from '../api/call.ts';

/** A task that a control starts: whether it is running, and its last error. */
export interface Task {
  readonly busy: boolean;
  readonly error: ApiError | null;
  /** Runs `work` unless a run is in progress. Returns true when it succeeded; otherwise sets `error`. */
  run(work: () => Promise<unknown>): Promise<boolean>;
  clear(): void;
}

/** Returns a task that runs one piece of work at a time and keeps its error to be shown. */
export function useTask(): Task {
  const busy = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  return {
    busy: busy.value,
    error: error.value,
    clear: () => {
      error.value = null;
    },
    async run(work) {
      if (busy.value) return false;
      busy.value = true;
      error.value = null;
      try {
        await work();
        return true;
      } catch (fault) {
        error.value = asApiError(fault);
        return false;
      } finally {
        busy.value = false;
      }
    },
  };
}

interface FieldProps {
  label: string;
  hint?: string;
  /** What is wrong with the value: the API's message. */
  error?: string | undefined;
  /** The control. It gets the ids that connect it to its label, hint and error. */
  children: (fieldProps: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }) => ComponentChildren;
}

/** A control with its label, hint and error, connected for a screen reader. */
export function Field({ label, hint, error, children }: FieldProps): JSX.Element {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, ...(described && { 'aria-describedby': described }), ...(error && { 'aria-invalid': true as const }) })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

interface TextProps extends Omit<FieldProps, 'children'> {
  value: string;
  onValue: (value: string) => void;
  /** The number of lines of a text area; without it the field is a single-line input. */
  lines?: number;
  type?: 'text' | 'password' | 'url' | 'search' | 'number';
  required?: boolean;
  disabled?: boolean;
  maxLength?: number;
  placeholder?: string;
  autocomplete?: 'username' | 'current-password' | 'new-password' | 'one-time-code' | 'off';
  autofocus?: boolean;
}

/** The types of input whose text may be in any script. */
const writtenTypes = ['text', 'search'];

/** A text field: a single-line input or a text area. */
export function TextField({ label, hint, error, value, onValue, lines, type = 'text', ...rest }: TextProps): JSX.Element {
  return (
    <Field label={label} error={error} hint={hint}>
      {(tie) =>
        lines ? (
          <textarea
            dir="auto"
            {...tie}
            {...rest}
            rows={lines}
            value={value}
            onInput={({ currentTarget }) => onValue(currentTarget.value)}
          />
        ) : (
          <input
            // The compiler has a separate type for each input type.
            {...({ dir: writtenTypes.includes(type) ? 'auto' : undefined, ...tie, ...rest, type } as JSX.IntrinsicElements['input'])}
            value={value}
            onInput={({ currentTarget }) => onValue(currentTarget.value)}
          />
        )
      }
    </Field>
  );
}

/** A choice between a few options. */
export function SelectField<T extends string>({
  label,
  hint,
  error,
  value,
  onValue,
  options,
  disabled,
}: Omit<FieldProps, 'children'> & {
  value: T;
  onValue: (value: T) => void;
  options: readonly { value: T; label: string }[];
  disabled?: boolean;
}): JSX.Element {
  return (
    <Field label={label} error={error} hint={hint}>
      {(tie) => (
        <select {...tie} value={value} disabled={disabled} onChange={({ currentTarget }) => onValue(currentTarget.value as T)}>
          {options.map((one) => (
            <option key={one.value} value={one.value}>
              {one.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** A checkbox with an explanation below it. */
export function CheckField({
  label,
  hint,
  checked,
  onChecked,
  disabled,
}: {
  label: string;
  hint?: string;
  checked: boolean;
  onChecked: (checked: boolean) => void;
  disabled?: boolean;
}): JSX.Element {
  const id = useId();
  return (
    <div class="check-field">
      <input
        type="checkbox"
        id={id}
        checked={checked}
        disabled={disabled}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={({ currentTarget }) => onChecked(currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
