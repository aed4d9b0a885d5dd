import type { ComponentChildren, JSX } from 'preact';
import { Button } from './button.tsx';
import { ErrorNotice } from './error-notice.tsx';
import { useTask } from './form.tsx';
import type { Loaded } from './use-loaded.ts';

/** Says that something is being loaded. */
export const Spinner = (): JSX.Element => <p class="spinner">Loading…</p>;

/** Shows a spinner until `of` has a value, then what `children` returns for it. Shows the error of loading, with a button that loads again. */
export function Loading<T>({
  of,
  children,
}: {
  of: Pick<Loaded<T>, 'error' | 'reload'> & { value?: T | undefined };
  children?: (value: T & {}) => ComponentChildren;
}): JSX.Element {
  const { value, error, reload } = of;
  return (
    <>
      <ErrorNotice error={error} retry={reload} />
      {value == null ? !error && <Spinner /> : children?.(value)}
    </>
  );
}

/** A button that loads more of a list, and the error of `load`. */
export function MoreButton({ load, children }: { load: () => Promise<unknown>; children: string }): JSX.Element {
  const task = useTask();
  return (
    <>
      <ErrorNotice error={task.error} />
      <div>
        <Button busy={task.busy} onClick={() => void task.run(load)}>
          {children}
        </Button>
      </div>
    </>
  );
}
