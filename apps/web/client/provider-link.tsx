import type { ComponentChildren, JSX } from 'preact';
import { query } from '../api/call.ts';
import { instance } from '../state/instance.ts';

/**
 * The link to the installation's OpenID Connect provider, which leads back to the page `path`. `isLinking`: the user is logged in and links an account of the
 * provider. Shows nothing if no provider is configured. Without children it says `Log in with …`.
 */
export function ProviderLink({
  path,
  isLinking = false,
  children,
}: {
  path: string;
  isLinking?: boolean;
  children?: ComponentChildren;
}): JSX.Element | null {
  const signIn = instance.value?.signIn;
  if (!signIn) return null;
  return (
    <a class="button" href={`/api/auth/oidc/start${query({ returnTo: path, ...(isLinking && { link: 'true' }) })}`}>
      {children ?? `Log in with ${signIn.name}`}
    </a>
  );
}
