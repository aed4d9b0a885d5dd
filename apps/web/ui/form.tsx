import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { type ApiError, asApiError } from '../api/call.ts';
import { Button, type ButtonProps } from './button.tsx';
import { ErrorNotice } from './error-notice.tsx';

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

/** The props that connect a control to its value. */
interface Bound<T> {
  value: T;
  onValue: (value: T) => void;
}

/** Connects a control to a signal. */
export const bind = <T,>(signal: Signal<T>): Bound<T> => ({ value: signal.value, onValue: (value) => (signal.value = value) });

/** The values of a form, and the task that submits them. */
export interface FormState<T extends object> {
  /** The current values, also in a handler that runs before the next render. */
  readonly now: T;
  readonly task: Task;
  /** The paths of the errors that controls show. */
  readonly shown: string[];
  set: (part: Partial<T>) => void;
  /** Connects a control to a value. An error about it is shown below the controls. */
  bind: <K extends keyof T>(name: K) => Bound<T[K]>;
  /** Connects a control to a value and to the error about it. Call it while the form renders: the notice of the form leaves this error out. */
  field: <K extends keyof T & string>(name: K) => Bound<T[K]> & { error: string | undefined };
  /** Connects a checkbox to a value. */
  check: (name: keyof T) => { checked: boolean; onChecked: (checked: boolean) => void };
}

/** Returns a form of the values that `get` returns and `set` changes. */
export function toForm<T extends object>(get: () => T, set: (part: Partial<T>) => void, task: Task): FormState<T> {
  const shown: string[] = [];
  const put = (name: keyof T, value: unknown): void => set({ [name]: value } as Partial<T>);
  const bindTo = <K extends keyof T>(name: K): Bound<T[K]> => ({ value: get()[name], onValue: (value) => put(name, value) });
  return {
    get now() {
      return get();
    },
    task,
    shown,
    set,
    bind: bindTo,
    field(name) {
      shown.push(`/${name}`);
      return { ...bindTo(name), error: task.error?.at(`/${name}`) };
    },
    check: (name) => ({ checked: Boolean(get()[name]), onChecked: (checked) => put(name, checked) }),
  };
}

/** Returns a form that begins with the values `initial`. */
export function useForm<T extends object>(initial: T): FormState<T> {
  const values = useSignal(initial);
  return toForm(
    () => values.value,
    (part) => (values.value = { ...values.value, ...part }),
    useTask(),
  );
}

/** The props of a form. */
export interface FormProps {
  form: Pick<FormState<object>, 'task' | 'shown'>;
  /** Runs when the form is submitted. Its error is shown below the controls. */
  run: () => Promise<unknown>;
  /** The text on the submit button. */
  action: ComponentChildren;
  variant?: ButtonProps['variant'];
  disabled?: boolean;
  /** Called by a Cancel button, which is shown only with it. */
  onCancel?: (() => void) | undefined;
  /** Another button before the submit button. */
  aside?: ComponentChildren;
  /** Whether the submit button is as wide as the form. */
  stacked?: boolean;
  /** Shown below the submit button. */
  more?: ComponentChildren;
  children: ComponentChildren;
}

/** A form with its controls, its error, and the button that submits it. */
export function Form({
  form,
  run,
  action,
  variant = 'main',
  onCancel,
  aside,
  stacked = false,
  more,
  children,
  disabled = false,
}: FormProps): JSX.Element {
  const { task, shown } = form;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!disabled) void task.run(run);
  };
  const button = (
    <Button type="submit" variant={variant} busy={task.busy} disabled={disabled}>
      {action}
    </Button>
  );
  return (
    <form class="form" onSubmit={submit}>
      {children}
      <ErrorNotice error={task.error} shown={shown} />
      {stacked ? (
        button
      ) : (
        <div class="actions">
          {onCancel && <Button onClick={onCancel}>Cancel</Button>}
          {aside}
          {button}
        </div>
      )}
      {more}
    </form>
  );
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

/** The props of a text field. */
export interface TextProps extends Omit<FieldProps, 'children'>, Bound<string> {
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
}: Omit<FieldProps, 'children'> &
  Bound<T> & {
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
