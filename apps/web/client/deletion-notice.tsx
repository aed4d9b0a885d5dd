import type { JSX } from 'preact';
import { keepAccount } from '../state/account-deletion.ts';
import { me } from '../state/session.ts';
import { Button } from '../ui/button.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { useTask } from '../ui/form.tsx';
import { momentOf } from '../ui/times.ts';
import { showToast } from '../ui/toast.tsx';

/** Says above every page when the user's account will be deleted, with a button that cancels it. Shows nothing if no deletion is scheduled. */
export function DeletionNotice(): JSX.Element | null {
  const task = useTask();
  const deletion = me.value?.deletion;
  if (!deletion) return null;
  const { deletesAt, messages } = deletion;
  const keep = (): void => void task.run(keepAccount).then((done) => done && showToast('Your account will not be deleted.'));
  return (
    <div class="deletion-notice" role="status">
      <p>
        Your account will be deleted on <time dateTime={deletesAt}>{momentOf(deletesAt)}</time>.{' '}
        {messages === 'delete' ? 'Your messages will be deleted, too.' : 'Your messages will stay.'}
      </p>
      <Button busy={task.busy} onClick={keep}>
        Keep my account
      </Button>
      <ErrorNotice error={task.error} />
    </div>
  );
}
