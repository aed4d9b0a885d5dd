import { refuse } from '../../base/errors.ts';
import { isTeamServer, type ServerType, serverTypes } from '../../contract/server.ts';
import type { Tag } from '../../contract/user.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { Platform } from '../../store/platform.ts';
import { diffFields, writeAudit } from '../access/audit.ts';
import { createActor } from '../access/credentials.ts';
import { addEvent, addEventInPipeline } from '../events/pending.ts';
import { ensureSystemAccount } from '../system-account.ts';
import { getTag } from '../views/accounts.ts';

/** The result of a grant: the account or server, the value before and the value after. Both are equal if nothing changed. */
export interface Grant<T> {
  readonly id: string;
  readonly name: string;
  readonly before: T;
  readonly after: T;
}

/**
 * Replaces the types of a server; an empty list removes all. Each type is kept once, in the order of docs/behavior/servers.md#server-types. A staff or
 * developer server is removed from Discovery. The actor in the audit log is the system account. 404 for an unknown server.
 */
export async function grantServerTypes(
  platform: Platform,
  serverId: string,
  types: readonly ServerType[],
): Promise<Grant<ServerType[]> & { unlisted: boolean }> {
  const after = serverTypes.filter((type) => types.includes(type));
  const isTeam = isTeamServer(after);
  const set = { types: after, ...(isTeam ? { listed: false } : {}) };
  const { servers } = platform.db;
  const changedFilter = { $or: [{ types: { $ne: after } }, ...(isTeam ? [{ listed: true }] : [])] };
  // Bumps the access versions even if nothing changes: a repeated grant reaches gateway nodes that missed the first one.
  const changed = await platform.accessVersions.runChange({ servers: [serverId] }, () =>
    servers.findOneAndUpdate(
      { _id: serverId, ...changedFilter },
      { $set: set, ...addEvent(platform, { name: 'SERVER_UPDATE' }) },
      { returnDocument: 'before' },
    ),
  );
  const server = changed ?? (await servers.findOne({ _id: serverId }));
  if (!server) return refuse('not_found', { what: 'server' });
  const changes = diffFields(server, set);
  if (Object.keys(changes).length > 0) {
    const actor = createActor(platform, await ensureSystemAccount(platform), new Map());
    await writeAudit(platform, actor, { serverId, action: 'server_update', targetId: serverId, changes });
  }
  return { id: serverId, name: server.name, before: server.types, after, unlisted: 'listed' in changes };
}

/** Returns the account `id` if a grant may change it. Refuses with 404 if it does not exist, and with 400 for the platform's own. */
async function requireGrantable(platform: Platform, id: string): Promise<AccountDoc> {
  const account = await platform.db.accounts.findOne({ _id: id });
  if (!account) return refuse('not_found', { what: 'account' });
  if (account.kind === 'system') refuse('invalid_request', { reason: 'the platform’s own account cannot be changed' });
  return account;
}

/** Applies `set` to an account if it matches `condition`. All nodes see it at once. Returns the account as it was before, and whether it matched. */
async function updateAccount(
  platform: Platform,
  id: string,
  condition: Pick<Partial<AccountDoc>, 'tag'>,
  set: Pick<Partial<AccountDoc>, 'tag' | 'earlyAccess'>,
): Promise<{ before: AccountDoc; isChanged: boolean }> {
  // The tag is public, so its change needs an event. An operator's process enqueues nothing, so the workers' sweep finds the event.
  const pendingEvent = 'tag' in set ? addEventInPipeline(platform, { name: 'USER_UPDATE' }) : {};
  const before = await platform.accessVersions.runChange({ accounts: [id] }, () =>
    platform.db.accounts.findOneAndUpdate({ _id: id, ...condition }, [{ $set: { ...set, ...pendingEvent } }], {
      returnDocument: 'before',
    }),
  );
  return before ? { before, isChanged: true } : { before: await requireGrantable(platform, id), isChanged: false };
}

/** Gives an account `tag`. With `undo`, removes `tag` if the account has it, and no other. */
async function changeTag(platform: Platform, id: string, tag: AccountDoc['tag'], undo: boolean): Promise<Grant<Tag | null>> {
  const { before, isChanged } = await updateAccount(platform, id, undo ? { tag } : {}, { tag: undo ? null : tag });
  const after = isChanged ? { ...before, tag: undo ? null : tag } : before;
  return { id, name: before.username, before: getTag(before), after: getTag(after) };
}

/**
 * Gives a person or bot the tag `official`, or removes it (docs/behavior/accounts.md#tags). An account shows one tag, so `official` replaces `verified_bot`.
 * `none` removes `official` only, and a verified bot stays verified. 404 for an unknown account; refuses the system account.
 */
export async function grantTag(platform: Platform, userId: string, tag: 'official' | 'none'): Promise<Grant<Tag | null>> {
  await requireGrantable(platform, userId);
  return changeTag(platform, userId, 'official', tag === 'none');
}

/** Gives an application's bot the tag `verified_bot` in place of any other, or removes it (docs/behavior/accounts.md#tags). 404 if there is none. */
export async function verifyBot(platform: Platform, applicationId: string, { undo = false } = {}): Promise<Grant<Tag | null>> {
  const application = await platform.db.applications.findOne({ _id: applicationId });
  if (!application) return refuse('not_found', { what: 'application' });
  return changeTag(platform, application.botId, 'verified_bot', undo);
}

/** Marks that a person joined during early access, or removes the mark (docs/behavior/accounts.md#badges). People only. 404 for an unknown account. */
export async function grantEarlyAccess(platform: Platform, userId: string, { undo = false } = {}): Promise<Grant<boolean>> {
  const { kind } = await requireGrantable(platform, userId);
  if (kind === 'bot') refuse('invalid_request', { reason: 'only people can have the early access badge' });
  const { before } = await updateAccount(platform, userId, {}, { earlyAccess: !undo });
  return { id: userId, name: before.username, before: before.earlyAccess ?? false, after: !undo };
}
