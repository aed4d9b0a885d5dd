import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { CheckField, useTask } from './form.tsx';
import { Problem } from './problem.tsx';
import { say } from './toast.tsx';

/** A yes or no that is saved when it is pressed: it shows what is wanted while that is on its way, and what counts when it was refused. */
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
  /** What is said when it is saved; nothing without. */
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
