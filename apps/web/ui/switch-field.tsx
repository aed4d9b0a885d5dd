import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { CheckField, useTask } from './form.tsx';
import { Problem } from './problem.tsx';
import { say } from './toast.tsx';

/** A checkbox that saves when it is changed. It shows the new value while saving, and returns to the saved value when the request fails. */
export function SwitchField({
  label,
  hint,
  checked,
  disabled,
  save,
  told,
}: {
  label: string;
  hint?: string;
  checked: boolean;
  disabled?: boolean;
  save: (checked: boolean) => Promise<unknown>;
  /** Returns the message to show after saving; without it no message is shown. */
  told?: (checked: boolean) => string;
}): JSX.Element {
  const wanted = useSignal(checked);
  const task = useTask();
  const change = (value: boolean): void => {
    if (task.busy) return;
    wanted.value = value;
    void task.run(() => save(value)).then((done) => done && told && say(told(value)));
  };
  return (
    <>
      <CheckField label={label} hint={hint} checked={task.busy ? wanted.value : checked} disabled={disabled} onChecked={change} />
      <Problem error={task.error} />
    </>
  );
}
