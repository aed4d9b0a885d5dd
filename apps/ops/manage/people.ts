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
      Sessions: account.sessions,
      'Last use': renderTime(account.lastUsedAt),
      Files: formatSize(account.storedBytes),
      Servers: account.serverCount,
      'Servers owned': joinLinks(account.ownedServers.map(({ id, name }) => renderLink('/servers', id, name))),
      Applications: joinLinks(account.applications.map(({ id, name }) => html`${renderName(name)} (${id})`)),
    }),
};
