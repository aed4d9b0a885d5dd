import { signal } from '@preact/signals';
import type { Session } from '../../../lib/contract/auth.ts';
import type { Me } from '../../../lib/contract/user.ts';
import { ApiError, call } from '../api/call.ts';
import { removeDrafts } from './stored-drafts.ts';

/** The logged-in user: null when nobody is logged in, undefined while this is not known. */
export const me = signal<Me | null | undefined>(undefined);

/** The id of the logged-in user; empty when nobody is logged in. */
export const myId = (): string => me.value?.id ?? '';

/** Loads the logged-in user by the session cookie. Throws `ApiError` when the service cannot be reached. */
export async function restore(): Promise<void> {
  try {
    me.value = await call<Me>('GET', '/api/auth/me');
  } catch (fault) {
    if (!(fault instanceof ApiError) || fault.status !== 401) throw fault;
    me.value = null;
  }
}

/** The credentials that the login page can send: a username and password, with two-factor authentication a code, or the one-time code of a login link. */
export type Login = { username: string; password: string; code?: string } | { code: string };

/** Logs in; the response sets the cookie. Throws `ApiError`. */
export async function login(credentials: Login): Promise<void> {
  await call<Session>('POST', 'username' in credentials ? '/api/auth/login' : '/api/auth/code', credentials);
  await restore();
}

/** Creates an account and logs in. `invite` is the code of an invite, where registration needs one. Throws `ApiError`. */
export async function register(username: string, password: string, displayName: string, invite: string | null): Promise<void> {
  const optional = { ...(displayName !== '' && { displayName }), ...(invite !== null && { invite }) };
  await call<Session>('POST', '/api/auth/register', { username, password, ...optional });
  await restore();
}

/** Logs out and removes the stored drafts. Loading `/login` as a new page drops the user's state. */
export async function logout(): Promise<void> {
  await call('POST', '/api/auth/logout').catch((fault: unknown) => {
    if (!(fault instanceof ApiError) || fault.status !== 401) throw fault;
  });
  removeDrafts(myId());
  location.assign('/login');
}
