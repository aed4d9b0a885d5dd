import { signal } from '@preact/signals';
import type { Me, Session } from '../../../lib/contract/user.ts';
import { ApiError, call } from '../api/call.ts';
import { forgetDrafts } from './stored-drafts.ts';

/** Who is logged in: null when nobody is, undefined while that is not known yet. */
export const me = signal<Me | null | undefined>(undefined);

/** The id of who is logged in; empty when nobody is. */
export const myId = (): string => me.value?.id ?? '';

/** Finds out who is logged in by the cookie. Throws `ApiError` when the service cannot be reached. */
export async function restore(): Promise<void> {
  try {
    me.value = await call<Me>('GET', '/api/auth/me');
  } catch (fault) {
    if (!(fault instanceof ApiError) || fault.status !== 401) throw fault;
    me.value = null;
  }
}

/** What the login page knows how to send: a username and password, or the one-use code of a login link. */
export type Login = { username: string; password: string } | { code: string };

/** Logs a person in; the answer sets the cookie. Throws `ApiError`. */
export async function login(given: Login): Promise<void> {
  await call<Session>('POST', 'code' in given ? '/api/auth/code' : '/api/auth/login', given);
  await restore();
}

/** Makes a person's account and logs it in. Throws `ApiError`. */
export async function register(username: string, password: string, displayName: string): Promise<void> {
  await call<Session>('POST', '/api/auth/register', { username, password, ...(displayName !== '' && { displayName }) });
  await restore();
}

/** Logs out. What the page knows of the person is dropped by loading it anew. */
export async function logout(): Promise<void> {
  await call('POST', '/api/auth/logout').catch((fault: unknown) => {
    if (!(fault instanceof ApiError) || fault.status !== 401) throw fault;
  });
  forgetDrafts(myId());
  location.assign('/login');
}
