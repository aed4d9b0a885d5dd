import { AccountDeletion, AccountDeletionInput, OwnDeletion } from '../../../lib/contract/account-deletion.ts';
import { cancelAccountDeletion, getAccountDeletion, requestAccountDeletion } from '../../../lib/domain/accounts/deletions.ts';
import { json } from '../bodies/json.ts';
import { admitLogin } from '../limits/logins.ts';
import { type Route, route } from '../route.ts';

/** The routes by which people delete their accounts (docs/behavior/accounts.md#account-deletion). */
export const accountDeletionRoutes: readonly Route[] = [
  route({
    operationId: 'requestAccountDeletion',
    tag: 'Account',
    method: 'POST',
    path: '/api/users/@me/deletion',
    auth: 'person',
    summary:
      'Schedules the deletion of the caller’s account after a grace period, and ends all other sessions at once. `messages` says whether the caller’s messages stay, shown as those of a deleted account, or are deleted, too. A repeated request replaces the choice but not the date. With two-factor authentication it needs a code. A wrong password is 400 and counts as a login does.',
    body: json(AccountDeletionInput),
    reply: { status: 200, body: AccountDeletion },
    errors: ['invalid_request', 'owns_servers', 'unauthorized', 'bots_not_allowed', 'rate_limited', 'two_factor_locked', 'unavailable'],
    admit: (platform, actor, input) => admitLogin(platform, actor.account.username, input),
    run: (platform, actor, { body, client }) => requestAccountDeletion(platform, actor, body, client),
  }),
  route({
    operationId: 'getAccountDeletion',
    tag: 'Account',
    method: 'GET',
    path: '/api/users/@me/deletion',
    auth: 'person',
    summary: 'Returns when the caller’s account will be deleted; null if no deletion is scheduled.',
    reply: { status: 200, body: OwnDeletion },
    errors: ['unauthorized', 'bots_not_allowed', 'rate_limited'],
    run: (platform, actor) => getAccountDeletion(platform, actor),
  }),
  route({
    operationId: 'cancelAccountDeletion',
    tag: 'Account',
    method: 'DELETE',
    path: '/api/users/@me/deletion',
    auth: 'person',
    summary: 'Cancels the scheduled deletion of the caller’s account, if there is one.',
    reply: { status: 204 },
    errors: ['unauthorized', 'bots_not_allowed', 'rate_limited'],
    run: async (platform, actor) => {
      await cancelAccountDeletion(platform, actor.id);
    },
  }),
];
