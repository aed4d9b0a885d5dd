import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Server } from '../../contract/server.ts';
import { exists } from '../../store/mongo/database.ts';
import { toMemberKey } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform } from '../../store/platform.ts';
import { type Actor, loadOwnMember, type ServerAccess } from '../access/checks.ts';
import { hasMaxServers } from '../access/memberships.ts';
import { loadCurrentServerView } from '../views/servers.ts';
import { addPerson } from './changes.ts';

/**
 * Wraps the creation of a membership with the steps that a way to join needs, such as taking a use of an invite. It must call `add`, which creates the
 * membership and returns false if the person is already a member.
 */
export type JoinWrapper = (add: () => Promise<boolean>) => Promise<unknown>;

/**
 * Adds a person to a server by the rules that invites and Discovery share, and returns the full server (docs/behavior/servers.md#joining). For a member it only
 * returns the server and does not run `wrapJoin`. Refuses, in this order, with `banned`, `invites_paused` or `too_many_servers`. These values may change until
 * `add` runs, which makes the final check of the ban and the cap. 404 `invite` if the server is deleted at the same moment.
 */
export async function joinServer(
  platform: EnqueuePlatform,
  actor: Actor,
  access: ServerAccess,
  wrapJoin: JoinWrapper = (add) => add(),
): Promise<Server> {
  const { _id: serverId, invitesPaused } = access.server;
  if (!(await loadOwnMember(platform, actor, serverId))) {
    if (await exists(platform.db.bans, toMemberKey(serverId, actor.id))) refuse('banned');
    if (invitesPaused) refuse('invites_paused');
    if (await hasMaxServers(platform, actor.id)) refuse('too_many_servers', { limit: limits.serversPerPerson });
    await wrapJoin(() => addPerson(platform, serverId, actor.id));
  }
  return loadCurrentServerView(platform, serverId, actor.id);
}
