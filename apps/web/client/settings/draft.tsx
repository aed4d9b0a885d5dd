import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { Button } from '../../ui/button.tsx';
import { Form, type FormState, toForm, useTask } from '../../ui/form.tsx';
import { showToast } from '../../ui/toast.tsx';
import { useUnsaved } from '../../ui/unsaved.tsx';

/** A form with unsaved changes. It stores only the fields that differ from the saved values, so a change by someone else shows in the other fields. */
export interface Draft<T extends object> extends FormState<T> {
  /** The changed fields, which a PATCH sends. */
  readonly patch: Partial<T>;
  reset: () => void;
}

/** Returns a draft of changes to `saved`, the saved values. The user is asked before it is lost. `isPart`: also when another part of the page is chosen. */
export function useDraft<T extends object>(saved: T, isPart = false): Draft<T> {
  const typed = useSignal<Partial<T>>({});
  const fields = Object.keys(typed.value) as (keyof T)[];
  const patch: Partial<T> = {};
  for (const field of fields) if (typed.value[field] !== saved[field]) patch[field] = typed.value[field];
  useUnsaved(Object.keys(patch).length > 0, isPart ? 'part' : 'page');
  const set = (part: Partial<T>): void => {
    typed.value = { ...typed.value, ...part };
  };
  const reset = (): void => {
    typed.value = {};
  };
  const now = { ...saved, ...patch };
  return { ...toForm<T>(() => now, set, useTask()), patch, reset };
}

/** A form for a draft. `save` sends the changes. */
export function DraftForm<T extends object>({
  draft,
  save,
  label = 'Save',
  disabled = false,
  children,
}: {
  draft: Draft<T>;
  save: () => Promise<unknown>;
  label?: string;
  disabled?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const isUnchanged = Object.keys(draft.patch).length === 0;
  const run = async (): Promise<void> => {
    await save();
    draft.reset();
    showToast('Changes saved.');
  };
  const discard = (): void => {
    draft.reset();
    draft.task.clear();
  };
  const discardButton = (
    <Button disabled={isUnchanged || draft.task.busy} onClick={discard}>
      Discard changes
    </Button>
  );
  return (
    <Form form={draft} run={run} action={label} disabled={isUnchanged || disabled} aside={discardButton}>
      {children}
    </Form>
  );
}
