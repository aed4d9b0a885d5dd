import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { ErrorNotice } from './error-notice.tsx';
import { CheckField, useTask } from './form.tsx';
import { showToast } from './toast.tsx';

/** A checkbox that saves when it is changed. It shows the new value while saving, and returns to the saved value when the request fails. */
export function SwitchField({
  label,
  hint,
  checked,
  disabled,
  save,
  savedText,
}: {
  label: string;
  hint?: string;
  checked: boolean;
  disabled?: boolean;
  save: (checked: boolean) => Promise<unknown>;
  /** Returns the message to show after saving; without it no message is shown. */
  savedText?: (checked: boolean) => string;
}): JSX.Element {
  const pending = useSignal(checked);
  const task = useTask();
  const change = (value: boolean): void => {
    if (task.busy) return;
    pending.value = value;
    void task.run(() => save(value)).then((done) => done && savedText && showToast(savedText(value)));
  };
  return (
    <>
      <CheckField label={label} hint={hint} checked={task.busy ? pending.value : checked} disabled={disabled} onChecked={change} />
      <ErrorNotice error={task.error} />
    </>
  );
}
