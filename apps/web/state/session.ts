import { signal } from '@preact/signals';
import type { Session } from '../../../lib/contract/auth.ts';
import type { Me } from '../../../lib/contract/user.ts';
import { ApiError, call, query } from '../api/call.ts';
import { setShownAccount } from '../api/shown-account.ts';
import { readStored, removeStored, writeStored } from '../ui/browser-storage.ts';
import { keepToast } from '../ui/toast.tsx';
import { removeDrafts } from './stored-drafts.ts';

/** The logged-in user: null when nobody is logged in, undefined while this is not known. */
export const me = signal<Me | null | undefined>(undefined);

/** The id of the logged-in user; empty when nobody is logged in. */
export const myId = (): string => me.value?.id ?? '';

/** Where the browser stores the id of the logged-in account, so that a change tells the other tabs. */
const accountKey = 'parlance.account';

/** Returns the account of the session cookie; null when nobody is logged in. Throws `ApiError` when the service cannot be reached. */
async function loadMe(): Promise<Me | null> {
  try {
    return await call<Me>('GET', '/api/auth/me', undefined, { anyAccount: true });
  } catch (fault) {
    if (!(fault instanceof ApiError) || fault.status !== 401) throw fault;
    return null;
  }
}

/** Loads the logged-in user by the session cookie. Throws `ApiError` when the service cannot be reached. */
export async function restore(): Promise<void> {
  const found = await loadMe();
  me.value = found;
  setShownAccount(found?.id ?? '', () => void checkSession());
  if (found && readStored(accountKey) !== found.id) writeStored(accountKey, found.id);
}

const toNext = (path: string): string => query({ next: path === '/' ? undefined : path });

/** Returns the path of the login page that leads back to `path`. */
export const loginPath = (path: string): string => `/login${toNext(path)}`;

/** Returns the path of the page that creates an account and leads back to `path`. */
export const registerPath = (path: string): string => `/register${toNext(path)}`;

/** Returns the path of the page that is open, with its query and fragment. */
export const currentPath = (): string => location.pathname + location.search + location.hash;

/** Whether the session was ended elsewhere, so that the page is left. What was written on it is then kept for the next login. */
export const isOver = signal(false);

/** Leaves a page whose session has ended. Its other parts must not ask to stay: nothing can be saved any more. */
function leave(open: () => void): void {
  addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), { capture: true });
  open();
}

let checking: Promise<void> | undefined;

/** Whether the user is logging out on this page. The login page then does not lead back to this place. */
let loggingOut = false;

/**
 * Finds out why the service refuses the session of this page. When it has ended, the login page is opened, which leads back to this place. When another
 * account has logged in in this browser, the page is loaded again and shows that account. Otherwise, while the user logs out here, and when the service
 * cannot be reached, nothing happens.
 */
export function checkSession(): Promise<void> {
  const check = async (): Promise<void> => {
    const shownId = myId();
    const found = await loadMe().catch(() => undefined);
    if (found === undefined || (found?.id ?? '') === shownId || loggingOut) return;
    keepToast(found ? `You are now logged in as ${found.displayName} (${found.username}).` : 'You have been logged out.');
    isOver.value = true;
    leave(() => (found ? location.reload() : location.replace(loginPath(currentPath()))));
  };
  checking ??= check().finally(() => {
    checking = undefined;
  });
  return checking;
}

// Another tab has logged in or out.
addEventListener('storage', ({ key, newValue }) => {
  if (key === accountKey && me.value !== undefined && (newValue ?? '') !== myId()) void checkSession();
});

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
  loggingOut = true;
  await call('POST', '/api/auth/logout').catch((fault: unknown) => {
    if (fault instanceof ApiError && fault.status === 401) return;
    loggingOut = false;
    throw fault;
  });
  removeDrafts(myId());
  removeStored(accountKey);
  leave(() => location.assign('/login'));
}
