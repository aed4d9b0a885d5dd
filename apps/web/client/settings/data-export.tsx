import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Export } from '../../../../lib/contract/auth.ts';
import { call } from '../../api/call.ts';
import { ConfirmButton, DialogButton, FormDialog } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { useForm } from '../../ui/form.tsx';
import { sizeOf } from '../../ui/sizes.ts';
import { dateOf, shortMomentOf } from '../../ui/times.ts';
import { showToast } from '../../ui/toast.tsx';
import { useGet } from '../../ui/use-loaded.ts';
import { needsLogin, OwnCodeField, OwnPasswordField, toCode } from './own-password-field.tsx';

const exportPath = '/api/users/@me/export';

/** How often the state is loaded while the archive is being made, in milliseconds. */
const pollMs = 5_000;

const isUnderWay = (found: Export | null | undefined): boolean => found?.state === 'waiting' || found?.state === 'running';

/** Asks for the password, and requests the archive. */
function RequestDialog({ onDone, onClose }: { onDone: (made: Export) => void; onClose: () => void }): JSX.Element {
  const form = useForm({ password: '', code: '' });
  const { password, code } = form.now;
  const request = async (): Promise<void> => {
    onDone(await call<Export>('POST', exportPath, { password, ...toCode(code) }));
    onClose();
  };
  return (
    <FormDialog title="Request your data" onClose={onClose} form={form} run={request} action="Request data" disabled={needsLogin()}>
      <OwnPasswordField label="Password" {...form.field('password')} />
      <OwnCodeField {...form.field('code')} />
    </FormDialog>
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
  const loaded = useGet<Export | null>(exportPath);
  const found = loaded.value;
  const isPolling = isUnderWay(found);
  useEffect(() => {
    if (!isPolling) return undefined;
    const timer = setInterval(loaded.reload, pollMs);
    return () => clearInterval(timer);
  }, [isPolling]);
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
          <ConfirmButton
            variant="danger"
            question={isPolling ? 'Cancel the request?' : 'Delete the archive?'}
            text="You can request another one 24 hours after the last request."
            action={isPolling ? 'Cancel request' : 'Delete archive'}
            run={remove}
          >
            {isPolling ? 'Cancel request' : 'Delete archive'}
          </ConfirmButton>
        )}
        {found !== undefined && !isPolling && (
          <DialogButton dialog={(close) => <RequestDialog onDone={loaded.set} onClose={close} />}>Request data</DialogButton>
        )}
      </div>
    </section>
  );
}
