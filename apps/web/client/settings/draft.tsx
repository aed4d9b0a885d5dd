import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { type Task, useTask } from '../../ui/form.tsx';
import { showToast } from '../../ui/toast.tsx';
import { useUnsaved } from '../../ui/unsaved.tsx';

/** Unsaved changes. It stores only the fields that differ from the saved values, so a change by someone else shows in the other fields. */
export interface Draft<T extends object> {
  /** The saved values with the changes applied. */
  readonly now: T;
  /** The changed fields, which a PATCH sends. */
  readonly patch: Partial<T>;
  set: (part: Partial<T>) => void;
  reset: () => void;
}

/** Returns a draft of changes to `saved`, the saved values. The user is asked before it is lost. `isPart`: also when another part of the page is chosen. */
export function useDraft<T extends object>(saved: T, isPart = false): Draft<T> {
  const typed = useSignal<Partial<T>>({});
  const fields = Object.keys(typed.value) as (keyof T)[];
  const patch: Partial<T> = {};
  for (const field of fields) if (typed.value[field] !== saved[field]) patch[field] = typed.value[field];
  useUnsaved(Object.keys(patch).length > 0, isPart ? 'part' : 'page');
  return {
    now: { ...saved, ...patch },
    patch,
    set: (part) => {
      typed.value = { ...typed.value, ...part };
    },
    reset: () => {
      typed.value = {};
    },
  };
}

/** A form for a draft. `save` sends the changes; an error is shown below the fields. `shown` are the fields that show their own errors. */
export function DraftForm<T extends object>({
  draft,
  task,
  save,
  shown = [],
  label = 'Save',
  disabled = false,
  children,
}: {
  draft: Draft<T>;
  task: Task;
  save: () => Promise<unknown>;
  shown?: readonly string[];
  label?: string;
  disabled?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const isUnchanged = Object.keys(draft.patch).length === 0;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (isUnchanged || disabled) return;
    void task.run(save).then((done) => {
      if (!done) return;
      draft.reset();
      showToast('Changes saved.');
    });
  };
  const discard = (): void => {
    draft.reset();
    task.clear();
  };
  return (
    <form class="form" onSubmit={submit}>
      {children}
      <ErrorNotice error={task.error} shown={shown} />
      <div class="actions">
        <Button disabled={isUnchanged || task.busy} onClick={discard}>
          Discard changes
        </Button>
        <Button type="submit" variant="main" busy={task.busy} disabled={isUnchanged || disabled}>
          {label}
        </Button>
      </div>
    </form>
  );
}

/** Returns a draft and the task that saves it. */
export function useDraftTask<T extends object>(saved: T, isPart = false): { draft: Draft<T>; task: Task } {
  return { draft: useDraft(saved, isPart), task: useTask() };
}
