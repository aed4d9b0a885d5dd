import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { Button } from '../../ui/button.tsx';
import { type Task, useTask } from '../../ui/form.tsx';
import { Problem } from '../../ui/problem.tsx';
import { say } from '../../ui/toast.tsx';

/** Unsaved changes. It stores only the fields that differ from the saved values, so a change by someone else shows in the other fields. */
export interface Draft<T extends object> {
  /** The saved values with the changes applied. */
  readonly now: T;
  /** The changed fields, which a PATCH sends. */
  readonly patch: Partial<T>;
  set: (part: Partial<T>) => void;
  reset: () => void;
}

/** Returns a draft of changes to `standing`, the saved values. */
export function useDraft<T extends object>(standing: T): Draft<T> {
  const typed = useSignal<Partial<T>>({});
  const fields = Object.keys(typed.value) as (keyof T)[];
  const patch: Partial<T> = {};
  for (const field of fields) if (typed.value[field] !== standing[field]) patch[field] = typed.value[field];
  return {
    now: { ...standing, ...patch },
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
  const unchanged = Object.keys(draft.patch).length === 0;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (unchanged || disabled) return;
    void task.run(save).then((done) => {
      if (!done) return;
      draft.reset();
      say('Saved.');
    });
  };
  const undo = (): void => {
    draft.reset();
    task.clear();
  };
  return (
    <form class="form" onSubmit={submit}>
      {children}
      <Problem error={task.error} shown={shown} />
      <div class="actions">
        <Button disabled={unchanged || task.busy} onClick={undo}>
          Undo
        </Button>
        <Button type="submit" look="main" busy={task.busy} disabled={unchanged || disabled}>
          {label}
        </Button>
      </div>
    </form>
  );
}

/** Returns a draft and the task that saves it. */
export function useDraftTask<T extends object>(standing: T): { draft: Draft<T>; task: Task } {
  return { draft: useDraft(standing), task: useTask() };
}
