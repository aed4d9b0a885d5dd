import { refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import type { ApplicationDoc } from '../../store/mongo/models/account.ts';
import type { Platform } from '../../store/platform.ts';
import type { Actor } from './checks.ts';

/**
 * Returns the application `id` if `actor` is its owner or its bot. Refuses with 404 if it does not exist, otherwise with `not_owner`
 * (docs/behavior/interactions.md#command-lists).
 */
export async function requireOwnApplication(platform: Platform, actor: Actor, id: string): Promise<ApplicationDoc> {
  const found = isId(id) ? await platform.db.applications.findOne({ _id: id }) : null;
  if (!found) return refuse('not_found', { what: 'application' });
  return actor.id === (actor.isBot ? found.botId : found.ownerId) ? found : refuse('not_owner');
}
