import { permissionBits, permissionsOf } from '../../lib/base/permissions.ts';
import type { EntryHead } from '../../lib/store/log/entry.ts';
import type { Place, Session } from './state.ts';

/** The permissions that make a member a manager here: who holds one of them acts on members. */
const managerBits =
  permissionBits['Manage Server'] | permissionBits['Manage Roles'] | permissionBits['Kick Members'] | permissionBits['Ban Members'];

/**
 * Whether a session of a member gets an event about a member of a server of more than 1,000: those of the member, of managers (Manage Server, Manage Roles, Kick
 * Members or Ban Members), of bots that asked for the event, and those that watch the account. Everybody gets any other event.
 */
export function getsMemberEvent({ rules, members }: Place, { member, concernedOnly }: EntryHead, { account, watch }: Session): boolean {
  if (!concernedOnly || member === undefined || account.bot || account.id === member || watch?.accounts.has(member)) return true;
  const own = members.get(account.id);
  return !!rules?.access && !!own && (permissionsOf(rules.access.server, own) & managerBits) !== 0;
}
