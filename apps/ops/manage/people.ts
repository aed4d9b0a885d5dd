import { refuse } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';
import { type AccountDetails, getAccountDetails, listAccounts } from '../../../lib/domain/operators/lists.ts';
import { html } from '../html.ts';
import type { Action } from './actions.ts';
import type { Managed } from './managed.ts';
import { formatSize, joinLinks, renderFacts, renderLink, renderName, renderTable, renderTime } from './views.ts';

const isPerson = ({ kind }: AccountDetails): boolean => kind === 'person';

const actions: Readonly<Record<string, Action<AccountDetails>>> = {
  'reset-password': {
    label: 'Reset password',
    about: 'Shows a link with which the person chooses a new password, once, within an hour. It replaces an earlier link.',
    fields: [],
    isOffered: isPerson,
    toCommand: ({ id: userId }) => ({ command: 'reset-password', userId }),
  },
  'end-sessions': {
    label: 'End sessions',
    about: 'Ends all sessions and login codes of the person at once. The person can log in again.',
    fields: [],
    isOffered: isPerson,
    toCommand: ({ id: userId }) => ({ command: 'end-sessions', userId }),
  },
  suspend: {
    label: 'Suspend',
    about:
      'Ends all sessions of the person at once, refuses logins, and refuses the tokens of the person’s bots. Messages and servers stay.',
    fields: [
      {
        name: 'reason',
        label: 'Reason',
        hint: 'A note for operators. The person does not see it. Optional.',
        maxChars: limits.suspensionReasonChars,
        isRequired: false,
      },
    ],
    isOffered: (account) => isPerson(account) && account.suspendedAt === null,
    toCommand: ({ id: userId }, { reason }) => ({ command: 'suspend', userId, ...(reason === undefined ? {} : { reason }) }),
  },
  unsuspend: {
    label: 'End suspension',
    about: 'The person can log in again, and the tokens of the person’s bots work again.',
    fields: [],
    isOffered: (account) => isPerson(account) && account.suspendedAt !== null,
    toCommand: ({ id: userId }) => ({ command: 'unsuspend', userId }),
  },
  'reset-two-factor': {
    label: 'Reset two-factor authentication',
    about: 'Turns it off, so that the password alone logs in. For people who lost their authenticator app and their recovery codes.',
    fields: [],
    isOffered: (account) => isPerson(account) && account.twoFactor,
    toCommand: ({ id: userId }) => ({ command: 'reset-two-factor', userId }),
  },
  'unlink-sign-in': {
    label: 'Unlink account of the provider',
    about:
      'The account of the OpenID Connect provider no longer logs the person in. Sessions stay: end them, too, if somebody else used it. A person without a password needs a password link.',
    fields: [],
    isOffered: (account) => isPerson(account) && account.identity !== null,
    toCommand: ({ id: userId }) => ({ command: 'unlink-sign-in', userId }),
  },
  'delete-account': {
    label: 'Delete account',
    about: 'Deletes the account after the grace period. Until then the person can cancel it. It is refused while the person owns servers.',
    fields: [
      {
        name: 'username',
        label: 'Username',
        hint: 'Type the username, so that no other account is deleted by mistake.',
        maxChars: limits.operatorTextChars,
        isRequired: true,
      },
      {
        name: 'messages',
        label: 'Messages',
        hint: 'What happens to the messages that the person wrote.',
        maxChars: limits.operatorTextChars,
        isRequired: true,
        choices: { keep: 'Keep them, as from a deleted account', delete: 'Delete them and their files' },
      },
    ],
    isOffered: (account) => isPerson(account) && account.deletion === null,
    toCommand: ({ id: userId, username }, values) =>
      values.username === username
        ? { command: 'delete-account', userId, messages: values.messages === 'delete' ? 'delete' : 'keep' }
        : refuse('invalid_request', { reason: 'this is not the username of the account' }),
  },
  'keep-account': {
    label: 'Keep account',
    about: 'Cancels the deletion of the account.',
    fields: [],
    isOffered: (account) => isPerson(account) && account.deletion !== null,
    toCommand: ({ id: userId }) => ({ command: 'keep-account', userId }),
  },
};

/** The pages `/people`: the list of accounts, and each account with what an operator can do. */
export const people: Managed<AccountDetails> = {
  path: '/people',
  title: 'People',
  noun: 'Account',
  searchLabel: 'Beginning of the username, or an id, also of a bot',
  actions,
  load: getAccountDetails,
  nameOf: ({ username }) => username,
  async list(platform, page) {
    const { items, next } = await listAccounts(platform, page);
    const rows = items.map(({ id, username, displayName, createdAt, storedBytes, suspendedAt }) => [
      renderLink('/people', id, username),
      renderName(displayName),
      renderTime(createdAt),
      html`${formatSize(storedBytes)}`,
      suspendedAt === null ? html`active` : html`<strong>suspended</strong> since ${renderTime(suspendedAt)}`,
    ]);
    return { table: renderTable('People', ['Username', 'Display name', 'Created', 'Files', 'State'], rows), next };
  },
  renderDetails: (account) =>
    renderFacts({
      Id: account.id,
      Username: renderName(account.username),
      'Display name': renderName(account.displayName),
      Kind: account.kind,
      Tag: account.tag ?? 'none',
      Created: renderTime(account.createdAt),
      Suspended: account.suspendedAt === null ? 'no' : html`since ${renderTime(account.suspendedAt)}`,
      ...(account.suspendedReason === null ? {} : { 'Reason of the suspension': renderName(account.suspendedReason) }),
      Deletion: account.deletion === null ? 'no' : html`${renderTime(account.deletion.deletesAt)}, messages: ${account.deletion.messages}`,
      'Two-factor authentication': account.twoFactor ? 'on' : 'off',
      ...(account.identity === null
        ? {}
        : { 'Linked account': html`${renderName(account.identity.subject)} of ${account.identity.issuer}` }),
      Sessions: account.sessions,
      'Last use': renderTime(account.lastUsedAt),
      Files: formatSize(account.storedBytes),
      Servers: account.serverCount,
      'Servers owned': joinLinks(account.ownedServers.map(({ id, name }) => renderLink('/servers', id, name))),
      Applications: joinLinks(account.applications.map(({ id, name }) => html`${renderName(name)} (${id})`)),
    }),
};
