import { refuse } from '../../base/errors.ts';
import type { ServerType } from '../../contract/server.ts';
import type { Platform } from '../../store/platform.ts';
import { type ListedServer, toListedServer } from './lists.ts';

/** What operators see of one server. `owner` is null if the account does not exist. */
export interface ServerDetails extends ListedServer {
  types: ServerType[];
  community: boolean;
  listed: boolean;
  owner: { id: string; username: string } | null;
}

/** The details of one server; 404 for an unknown id. */
export async function getServerDetails({ db }: Platform, id: string): Promise<ServerDetails> {
  const server = (await db.servers.findOne({ _id: id })) ?? refuse('not_found', { what: 'server' });
  const owner = await db.accounts.findOne({ _id: server.ownerId });
  const { types, community, listed } = server;
  return { ...toListedServer(server), types, community, listed, owner: owner && { id: owner._id, username: owner.username } };
}
