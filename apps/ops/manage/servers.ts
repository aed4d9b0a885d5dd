import { refuse } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';
import { listAccounts, listServersOfAll } from '../../../lib/domain/operators/lists.ts';
import { getServerDetails, type ServerDetails } from '../../../lib/domain/operators/server-details.ts';
import type { OpsPlatform } from '../../../lib/store/platform.ts';
import { html } from '../html.ts';
import type { Action } from './actions.ts';
import type { Managed } from './managed.ts';
import { formatSize, renderFacts, renderLink, renderName, renderTable, renderTime } from './views.ts';

/** The id of the account with this username or id; 404 if there is none. */
async function findAccountId(platform: OpsPlatform, nameOrId: string): Promise<string> {
  const { items } = await listAccounts(platform, { query: nameOrId, limit: 1 });
  const found = items.find(({ id, username }) => id === nameOrId || username === nameOrId.toLowerCase());
  return found?.id ?? refuse('not_found', { what: 'account' });
}

const actions: Readonly<Record<string, Action<ServerDetails>>> = {
  transfer: {
    label: 'Transfer server',
    about: 'Makes a person who is in the server its owner. The change appears in the server’s audit log.',
    fields: [
      {
        name: 'owner',
        label: 'New owner',
        hint: 'Username or id of a person who is in the server.',
        maxChars: limits.operatorTextChars,
        isRequired: true,
      },
    ],
    isOffered: () => true,
    toCommand: async ({ id: serverId }, { owner = '' }, platform) => ({
      command: 'transfer-server',
      serverId,
      userId: await findAccountId(platform, owner),
    }),
  },
  delete: {
    label: 'Delete server',
    about: 'Deletes the server with everything in it: channels, messages and files. It is hidden at once and cannot be restored.',
    fields: [
      {
        name: 'name',
        label: 'Name of the server',
        hint: 'Type the name, so that no other server is deleted by mistake.',
        maxChars: limits.nameChars,
        isRequired: true,
      },
    ],
    isOffered: () => true,
    isFinal: true,
    toCommand: ({ id: serverId, name }, values) =>
      values.name === name.trim()
        ? { command: 'delete-server', serverId }
        : refuse('invalid_request', { reason: 'this is not the name of the server' }),
  },
};

/** The pages `/servers`: the list of servers, and each server with what an operator can do. */
export const servers: Managed<ServerDetails> = {
  path: '/servers',
  title: 'Servers',
  noun: 'Server',
  searchLabel: 'Beginning of the name, or an id',
  actions,
  load: getServerDetails,
  nameOf: ({ name }) => name,
  async list(platform, page) {
    const { items, next } = await listServersOfAll(platform, page);
    const rows = items.map(({ id, name, ownerId, memberCount, storedBytes, createdAt }) => [
      renderLink('/servers', id, name),
      renderLink('/people', ownerId, ownerId),
      html`${memberCount}`,
      html`${formatSize(storedBytes)}`,
      renderTime(createdAt),
    ]);
    return { table: renderTable('Servers', ['Name', 'Owner', 'Members', 'Files', 'Created'], rows), next };
  },
  renderDetails: ({ id, name, owner, ownerId, memberCount, storedBytes, types, community, listed, createdAt }) =>
    renderFacts({
      Id: id,
      Name: renderName(name),
      Owner: owner === null ? ownerId : renderLink('/people', owner.id, owner.username),
      Members: memberCount,
      Files: formatSize(storedBytes),
      Types: types.join(', ') || 'none',
      Community: community ? 'yes' : 'no',
      'In Discovery': listed ? 'yes' : 'no',
      Created: renderTime(createdAt),
    }),
};
