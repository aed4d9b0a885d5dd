import type { JSX } from 'preact';
import { call } from '../../api/call.ts';
import { instance } from '../../state/instance.ts';
import { loadOwnSignIn, ownSignIn } from '../../state/sign-in.ts';
import { Form, useForm } from '../../ui/form.tsx';
import { shortMomentOf } from '../../ui/times.ts';
import { showToast } from '../../ui/toast.tsx';
import { ProviderLink } from '../provider-link.tsx';
import { OwnCodeField, OwnPasswordField, toCode } from './own-password-field.tsx';

/** Unlinks the account of the provider, after the password, and with two-factor authentication a code. */
function UnlinkForm({ name }: { name: string }): JSX.Element {
  const form = useForm({ password: '', code: '' });
  const unlink = async (): Promise<void> => {
    await call('DELETE', '/api/users/@me/sign-in', { password: form.now.password, ...toCode(form.now.code) });
    await loadOwnSignIn();
    showToast(`${name} is no longer linked.`);
  };
  return (
    <Form form={form} run={unlink} action={`Unlink ${name}`} variant="danger">
      <OwnPasswordField label="Password for unlinking" {...form.field('password')} />
      <OwnCodeField {...form.field('code')} />
    </Form>
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
