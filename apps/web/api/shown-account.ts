/** The request header that names the account for which a page sends a request (docs/behavior/requests.md#session-cookie). */
const accountHeader = 'Parlance-Account';

let shownId = '';
let onRefused: () => void = () => undefined;

/**
 * Sets the account that this page shows; an empty id when there is none. All requests name it from now on, because another tab may log in as somebody else,
 * and all tabs share one cookie. `onCredentialRefused` is called when the service answers that the cookie is not valid or is not of this account.
 */
export function setShownAccount(accountId: string, onCredentialRefused: () => void): void {
  shownId = accountId;
  onRefused = onCredentialRefused;
}

/** Whether an event or response is of another account than the one that this page shows. */
export const isOtherAccount = (accountId: string): boolean => shownId !== '' && accountId !== shownId;

/** Returns the headers that name the shown account; none when there is no such account. */
export const shownAccountHeaders = (): Record<string, string> => (shownId === '' ? {} : { [accountHeader]: shownId });

/** Must be called when the service has refused the credential of a request. */
export const reportRefusedCredential = (): void => {
  if (shownId !== '') onRefused();
};
