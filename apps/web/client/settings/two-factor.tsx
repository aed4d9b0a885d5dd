import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { RecoveryCodes, TwoFactorSetup, TwoFactorState } from '../../../../lib/contract/two-factor.ts';
import { call } from '../../api/call.ts';
import { loadOwnSignIn } from '../../state/sign-in.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { countOf } from '../../ui/counts.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { useTask } from '../../ui/form.tsx';
import { QrCode } from '../../ui/qr-code.tsx';
import { dateOf } from '../../ui/times.ts';
import { showToast } from '../../ui/toast.tsx';
import { useLoaded } from '../../ui/use-loaded.ts';
import { CodeField } from '../two-factor-step.tsx';
import { needsLogin, OwnPasswordField } from './own-password-field.tsx';

const path = '/api/users/@me/two-factor';

/** Asks for the password, shows the new secret, and turns two-factor authentication on with a code. */
function TurnOnDialog({ onClose, onDone }: { onClose: () => void; onDone: (codes: readonly string[]) => void }): JSX.Element {
  const password = useSignal('');
  const code = useSignal('');
  const setup = useSignal<TwoFactorSetup | null>(null);
  const task = useTask();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(async () => {
      if (setup.value === null) setup.value = await call<TwoFactorSetup>('POST', path, { password: password.value });
      else onDone((await call<RecoveryCodes>('PUT', path, { code: code.value })).recoveryCodes);
    });
  };
  return (
    <Dialog title="Turn on two-factor authentication" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        {setup.value === null ? (
          <>
            <p>You need an authenticator app, such as one of your password manager or of your phone. First, confirm that it is you.</p>
            <OwnPasswordField
              label="Your password"
              value={password.value}
              onValue={(value) => (password.value = value)}
              error={task.error?.at('/password')}
            />
          </>
        ) : (
          <>
            <p>
              Scan this code with your authenticator app, or enter the key there. On this device you can also{' '}
              <a href={setup.value.uri}>open it in an app</a>.
            </p>
            <QrCode text={setup.value.uri} label="QR code for your authenticator app" />
            <div class="two-factor-key">
              <code>{setup.value.secret.replace(/(.{4})(?=.)/g, '$1 ')}</code>
              <CopyButton text={setup.value.secret} what="the key" />
            </div>
            <CodeField
              label="Code that the app shows"
              value={code.value}
              onValue={(value) => (code.value = value)}
              error={task.error?.at('/code')}
            />
            <p class="soft">Turning it on logs you out on all other devices.</p>
          </>
        )}
        <ErrorNotice error={task.error} shown={setup.value === null ? ['/password'] : ['/code']} />
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="main" busy={task.busy} disabled={setup.value === null && needsLogin()}>
            {setup.value === null ? 'Continue' : 'Turn on'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Asks for the password and a code before a change, which `run` makes. */
function ChangeDialog({
  title,
  children,
  action,
  run,
  onClose,
}: {
  title: string;
  children: string;
  action: string;
  run: (factors: { password: string; code: string }) => Promise<unknown>;
  onClose: () => void;
}): JSX.Element {
  const password = useSignal('');
  const code = useSignal('');
  const task = useTask();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(() => run({ password: password.value, code: code.value }));
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <p>{children}</p>
        <OwnPasswordField
          label="Your password"
          value={password.value}
          onValue={(value) => (password.value = value)}
          error={task.error?.at('/password')}
        />
        <CodeField value={code.value} onValue={(value) => (code.value = value)} error={task.error?.at('/code')} />
        <ErrorNotice error={task.error} shown={['/password', '/code']} />
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="danger" busy={task.busy} disabled={needsLogin()}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Shows new recovery codes until the person says that they are saved. They cannot be shown again. */
function NewRecoveryCodes({ codes, onSaved }: { codes: readonly string[]; onSaved: () => void }): JSX.Element {
  const text = codes.join('\n');
  return (
    <div class="settings-card" role="status">
      <p>
        <strong>Save your recovery codes.</strong> Each of them logs you in once instead of a code of the app. Keep them where you find them
        without this device. They are not shown again.
      </p>
      <ul class="recovery-codes" aria-label="Recovery codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div class="actions">
        <CopyButton text={text} what="the recovery codes" />
        <a class="button" download="parlance-recovery-codes.txt" href={`data:text/plain;charset=utf-8,${encodeURIComponent(`${text}\n`)}`}>
          Download
        </a>
        <Button variant="main" onClick={onSaved}>
          I have saved them
        </Button>
      </div>
    </div>
  );
}

/** The section of the account page for two-factor authentication. `onTurnedOn` is called when other sessions have ended. */
export function TwoFactorSection({ onTurnedOn }: { onTurnedOn: () => void }): JSX.Element {
  const state = useLoaded<TwoFactorState>((signal) => call('GET', path, undefined, { signal }), []);
  const opened = useSignal<'on' | 'off' | 'codes' | null>(null);
  const codes = useSignal<readonly string[]>([]);
  const close = (): void => {
    opened.value = null;
  };
  const showCodes = (shown: readonly string[]): void => {
    codes.value = shown;
    close();
    state.reload();
    void loadOwnSignIn().catch(() => undefined); // forms ask for a code if the service does
  };
  const turnOff = async (factors: object): Promise<void> => {
    await call('POST', `${path}/disable`, factors);
    showCodes([]);
    showToast('Two-factor authentication is off.');
  };
  const replaceCodes = async (factors: object): Promise<void> =>
    showCodes((await call<RecoveryCodes>('POST', `${path}/recovery-codes`, factors)).recoveryCodes);
  const { value } = state;
  return (
    <>
      <section class="settings-block" aria-labelledby="two-factor">
        <h3 id="two-factor">Two-factor authentication</h3>
        <p class="soft">
          {value?.enabledAt
            ? `On since ${dateOf(value.enabledAt)}. A login needs a code of your authenticator app. You have ${countOf(value.recoveryCodesLeft, 'recovery code')} left.`
            : 'A login needs a code of an app on your phone as well, so that nobody can log in with your password alone.'}
        </p>
        <ErrorNotice error={state.error} retry={state.reload} />
        {!value && !state.error && <p class="spinner">Loading…</p>}
        {codes.value.length > 0 && <NewRecoveryCodes codes={codes.value} onSaved={() => (codes.value = [])} />}
        {value && (
          <div class="settings-buttons">
            {value.enabled ? (
              <>
                <Button onClick={() => (opened.value = 'codes')}>New recovery codes</Button>
                <Button variant="danger" onClick={() => (opened.value = 'off')}>
                  Turn off
                </Button>
              </>
            ) : (
              <Button onClick={() => (opened.value = 'on')}>Turn on two-factor authentication</Button>
            )}
          </div>
        )}
      </section>
      {opened.value === 'on' && (
        <TurnOnDialog
          onClose={close}
          onDone={(shown) => {
            showCodes(shown);
            onTurnedOn();
          }}
        />
      )}
      {opened.value === 'off' && (
        <ChangeDialog title="Turn off two-factor authentication?" action="Turn off" run={turnOff} onClose={close}>
          Your password alone will log in. Your recovery codes stop working.
        </ChangeDialog>
      )}
      {opened.value === 'codes' && (
        <ChangeDialog title="Make new recovery codes?" action="Make new codes" run={replaceCodes} onClose={close}>
          The codes that you have now stop working.
        </ChangeDialog>
      )}
    </>
  );
}
