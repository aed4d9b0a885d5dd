import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Export } from '../../../../lib/contract/auth.ts';
import { call } from '../../api/call.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { useTask } from '../../ui/form.tsx';
import { sizeOf } from '../../ui/sizes.ts';
import { dateOf, shortMomentOf } from '../../ui/times.ts';
import { showToast } from '../../ui/toast.tsx';
import { useLoaded } from '../../ui/use-loaded.ts';
import { needsLogin, OwnCodeField, OwnPasswordField, toCode } from './own-password-field.tsx';

const exportPath = '/api/users/@me/export';

/** How often the state is loaded while the archive is being made, in milliseconds. */
const pollMs = 5_000;

const isUnderWay = (found: Export | null | undefined): boolean => found?.state === 'waiting' || found?.state === 'running';

/** Asks for the password, and requests the archive. */
function RequestDialog({ onDone, onClose }: { onDone: (made: Export) => void; onClose: () => void }): JSX.Element {
  const password = useSignal('');
  const code = useSignal('');
  const task = useTask();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task
      .run(async () => onDone(await call<Export>('POST', exportPath, { password: password.value, ...toCode(code) })))
      .then((done) => done && onClose());
  };
  return (
    <Dialog title="Request your data" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <OwnPasswordField
          label="Password"
          value={password.value}
          onValue={(value) => (password.value = value)}
          error={task.error?.at('/password')}
        />
        <OwnCodeField code={code} error={task.error} />
        <ErrorNotice error={task.error} shown={['/password', '/code']} />
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="main" busy={task.busy} disabled={needsLogin()}>
            Request data
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function ExportState({ found }: { found: Export }): JSX.Element {
  if (found.state === 'failed') return <p>The archive could not be made. Request it again.</p>;
  if (found.state !== 'ready' || found.expiresAt === null)
    return <p role="status">Your archive is being made. You’ll get a direct message when it is ready.</p>;
  return (
    <p role="status">
      Your archive is ready (requested: {shortMomentOf(found.createdAt)}, {sizeOf(found.bytes ?? 0)}). You can download it until{' '}
      <time dateTime={found.expiresAt}>{dateOf(found.expiresAt)}</time>.
    </p>
  );
}

/** The part of the account page with which users request, download and delete an archive with their data. */
export function DataExport(): JSX.Element {
  const loaded = useLoaded<Export | null>((signal) => call('GET', exportPath, undefined, { signal }), []);
  const dialog = useSignal<'request' | 'delete' | null>(null);
  const found = loaded.value;
  const isPolling = isUnderWay(found);
  useEffect(() => {
    if (!isPolling) return undefined;
    const timer = setInterval(loaded.reload, pollMs);
    return () => clearInterval(timer);
  }, [isPolling]);
  const close = (): void => {
    dialog.value = null;
  };
  const remove = async (): Promise<void> => {
    await call('DELETE', exportPath);
    loaded.set(null);
    showToast('The archive has been deleted.');
  };
  return (
    <section class="settings-block" aria-labelledby="data">
      <h3 id="data">Your data</h3>
      <p class="soft">
        Download an archive with your account, the messages you wrote and the files you uploaded. You can request it once in 24 hours.
      </p>
      <ErrorNotice error={loaded.error} retry={loaded.reload} />
      {found && <ExportState found={found} />}
      <div class="actions">
        {found?.state === 'ready' && (
          <a class="button main" href={`${exportPath}/file`} download="parlance.zip">
            Download
          </a>
        )}
        {found && (
          <Button variant="danger" onClick={() => (dialog.value = 'delete')}>
            {isPolling ? 'Cancel request' : 'Delete archive'}
          </Button>
        )}
        {found !== undefined && !isPolling && <Button onClick={() => (dialog.value = 'request')}>Request data</Button>}
      </div>
      {dialog.value === 'request' && <RequestDialog onDone={loaded.set} onClose={close} />}
      {dialog.value === 'delete' && (
        <Confirm
          title={isPolling ? 'Cancel the request?' : 'Delete the archive?'}
          action={isPolling ? 'Cancel request' : 'Delete archive'}
          run={remove}
          onClose={close}
        >
          <p>You can request another one 24 hours after the last request.</p>
        </Confirm>
      )}
    </section>
  );
}
