import type { JSX } from 'preact';
import { instance, loadInstance } from '../state/instance.ts';
import { loginPath, register } from '../state/session.ts';
import { Form, useForm } from '../ui/form.tsx';
import { Loading } from '../ui/loading.tsx';
import { NewPasswordField } from '../ui/new-password-field.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { useNext } from './entry.ts';
import { NewNamesFields } from './new-names-fields.tsx';
import { ProviderLink } from './provider-link.tsx';

const OtherWays = ({ path }: { path: string }): JSX.Element => (
  <>
    <ProviderLink path={path} />
    <p>
      Already have an account? <a href={loginPath(path)}>Log in</a>
    </p>
  </>
);

/** Says why nobody can create an account here, instead of the form. */
function NoRegistration({ isClosed, path }: { isClosed: boolean; path: string }): JSX.Element {
  return (
    <main class="entry">
      <div class="form">
        <h1>{isClosed ? 'Registration is closed' : 'You need an invite'}</h1>
        <p>
          {isClosed
            ? 'Only people with an account can use this installation. Ask its operator for one.'
            : 'To create an account, open an invite link to a server first.'}
        </p>
        <OtherWays path={path} />
      </div>
    </main>
  );
}

/** The page that creates an account and logs it in. */
export function RegisterPage(): JSX.Element {
  const form = useForm({ username: '', displayName: '', password: '' });
  const { path, proceed } = useNext();
  const { error, reload } = useLoaded(loadInstance, []);
  const invite = /^\/invite\/([^/?#]+)/.exec(path)?.[1] ?? null;
  const create = async (): Promise<void> => {
    const { username, displayName, password } = form.now;
    await register(username, password, displayName, invite);
    proceed();
  };
  const registration = instance.value?.registration;
  if (registration === undefined)
    return (
      <main class="entry">
        <Loading of={{ error, reload }} />
      </main>
    );
  if (registration === 'closed' || (registration === 'invite' && invite === null))
    return <NoRegistration isClosed={registration === 'closed'} path={path} />;
  return (
    <main class="entry">
      <Form form={form} run={create} action="Create account" stacked more={<OtherWays path={path} />}>
        <h1>Create an account</h1>
        <NewNamesFields field={form.field} />
        <NewPasswordField label="Password" {...form.field('password')} />
      </Form>
    </main>
  );
}
