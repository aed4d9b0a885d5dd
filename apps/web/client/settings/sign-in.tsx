import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { call } from '../../api/call.ts';
import { instance } from '../../state/instance.ts';
import { loadOwnSignIn, ownSignIn } from '../../state/sign-in.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { useTask } from '../../ui/form.tsx';
import { shortMomentOf } from '../../ui/times.ts';
import { showToast } from '../../ui/toast.tsx';
import { ProviderLink } from '../provider-link.tsx';
import { OwnCodeField, OwnPasswordField, toCode } from './own-password-field.tsx';

/** Unlinks the account of the provider, after the password, and with two-factor authentication a code. */
function UnlinkForm({ name }: { name: string }): JSX.Element {
  const [password, code] = [useSignal(''), useSignal('')];
  const task = useTask();
  const unlink = async (): Promise<void> => {
    await call('DELETE', '/api/users/@me/sign-in', { password: password.value, ...toCode(code) });
    await loadOwnSignIn();
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(unlink).then((done) => done && showToast(`${name} is no longer linked.`));
  };
  return (
    <form class="form" onSubmit={submit}>
      <OwnPasswordField
        label="Password for unlinking"
        value={password.value}
        onValue={(value) => (password.value = value)}
        error={task.error?.at('/password')}
      />
      <OwnCodeField code={code} error={task.error} />
      <ErrorNotice error={task.error} shown={['/password', '/code']} />
      <div class="actions">
        <Button type="submit" variant="danger" busy={task.busy}>
          Unlink {name}
        </Button>
      </div>
    </form>
  );
}

/** The section about the account of the OpenID Connect provider that logs the user in. Shows nothing without a provider and a linked account. */
export function SignInSection(): JSX.Element | null {
  const provider = instance.value?.signIn;
  const own = ownSignIn.value;
  if (!own || (!provider && !own.linked)) return null;
  const name = provider?.name ?? own.linked?.issuer ?? '';
  return (
    <section class="settings-block" aria-labelledby="sign-in">
      <h3 id="sign-in">Log in with {name}</h3>
      {own.linked ? (
        <p class="soft">
          Your account is linked to {own.linked.issuer} (added:{' '}
          <time dateTime={own.linked.linkedAt}>{shortMomentOf(own.linked.linkedAt)}</time>).
          {!own.hasPassword && ' Set a password first if you want to unlink it.'}
        </p>
      ) : (
        <>
          <p class="soft">Link your {name} account to log in with it. You need your password to confirm.</p>
          <ProviderLink path="/settings/account" isLinking>
            Link {name}
          </ProviderLink>
        </>
      )}
      {own.linked && own.hasPassword && <UnlinkForm name={name} />}
    </section>
  );
}
