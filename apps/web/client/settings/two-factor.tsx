import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { RecoveryCodes, TwoFactorSetup, TwoFactorState } from '../../../../lib/contract/two-factor.ts';
import { call } from '../../api/call.ts';
import { loadOwnSignIn } from '../../state/sign-in.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { countOf } from '../../ui/counts.ts';
import { DialogButton, FormDialog } from '../../ui/dialog.tsx';
import { useForm } from '../../ui/form.tsx';
import { Loading } from '../../ui/loading.tsx';
import { QrCode } from '../../ui/qr-code.tsx';
import { dateOf } from '../../ui/times.ts';
import { showToast } from '../../ui/toast.tsx';
import { useGet } from '../../ui/use-loaded.ts';
import { CodeField } from '../two-factor-step.tsx';
import { needsLogin, OwnPasswordField } from './own-password-field.tsx';

const path = '/api/users/@me/two-factor';

/** Asks for the password, shows the new secret, and turns two-factor authentication on with a code. */
function TurnOnDialog({ onClose, onDone }: { onClose: () => void; onDone: (codes: readonly string[]) => void }): JSX.Element {
  const form = useForm({ password: '', code: '' });
  const setup = useSignal<TwoFactorSetup | null>(null);
  const { password, code } = form.now;
  const run = async (): Promise<void> => {
    if (setup.value === null) setup.value = await call<TwoFactorSetup>('POST', path, { password });
    else {
      const { recoveryCodes } = await call<RecoveryCodes>('PUT', path, { code });
      onClose();
      onDone(recoveryCodes);
    }
  };
  return (
    <FormDialog
      title="Turn on two-factor authentication"
      onClose={onClose}
      form={form}
      run={run}
      action={setup.value === null ? 'Continue' : 'Turn on'}
      disabled={setup.value === null && needsLogin()}
    >
      {setup.value === null ? (
        <>
          <p>You need an authenticator app, such as one of your password manager or of your phone. First, confirm that it is you.</p>
          <OwnPasswordField label="Your password" {...form.field('password')} />
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
          <CodeField label="Code that the app shows" {...form.field('code')} />
          <p class="soft">Turning it on logs you out on all other devices.</p>
        </>
      )}
    </FormDialog>
  );
}

interface ChangeProps {
  title: string;
  text: string;
  action: string;
  run: (factors: { password: string; code: string }) => Promise<unknown>;
}

/** Asks for the password and a code before a change, which `run` makes. */
function ChangeDialog({ title, text, action, run, onClose }: ChangeProps & { onClose: () => void }): JSX.Element {
  const form = useForm({ password: '', code: '' });
  const change = async (): Promise<void> => {
    await run(form.now);
    onClose();
  };
  return (
    <FormDialog title={title} onClose={onClose} form={form} run={change} action={action} variant="danger" disabled={needsLogin()}>
      <p>{text}</p>
      <OwnPasswordField label="Your password" {...form.field('password')} />
      <CodeField {...form.field('code')} />
    </FormDialog>
  );
}

/** A button that opens the dialog of a change. */
const ChangeButton = ({
  variant = 'plain',
  children,
  ...change
}: ChangeProps & { variant?: 'danger' | 'plain'; children: string }): JSX.Element => (
  <DialogButton variant={variant} dialog={(close) => <ChangeDialog {...change} onClose={close} />}>
    {children}
  </DialogButton>
);

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
  const state = useGet<TwoFactorState>(path);
  const codes = useSignal<readonly string[]>([]);
  const showCodes = (shown: readonly string[]): void => {
    codes.value = shown;
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
  const showFirstCodes = (shown: readonly string[]): void => {
    showCodes(shown);
    onTurnedOn();
  };
  const { value } = state;
  return (
    <section class="settings-block" aria-labelledby="two-factor">
      <h3 id="two-factor">Two-factor authentication</h3>
      <p class="soft">
        {value?.enabledAt
          ? `On since ${dateOf(value.enabledAt)}. A login needs a code of your authenticator app. You have ${countOf(value.recoveryCodesLeft, 'recovery code')} left.`
          : 'A login needs a code of an app on your phone as well, so that nobody can log in with your password alone.'}
      </p>
      <Loading of={state} />
      {codes.value.length > 0 && <NewRecoveryCodes codes={codes.value} onSaved={() => (codes.value = [])} />}
      {value && (
        <div class="settings-buttons">
          {value.enabled ? (
            <>
              <ChangeButton
                title="Make new recovery codes?"
                text="The codes that you have now stop working."
                action="Make new codes"
                run={replaceCodes}
              >
                New recovery codes
              </ChangeButton>
              <ChangeButton
                variant="danger"
                title="Turn off two-factor authentication?"
                text="Your password alone will log in. Your recovery codes stop working."
                action="Turn off"
                run={turnOff}
              >
                Turn off
              </ChangeButton>
            </>
          ) : (
            <DialogButton dialog={(close) => <TurnOnDialog onClose={close} onDone={showFirstCodes} />}>
              Turn on two-factor authentication
            </DialogButton>
          )}
        </div>
      )}
    </section>
  );
}
