import { computePermissions, permissionBits } from '../../lib/base/permissions.ts';
import type { EntryHead } from '../../lib/store/redis/log/entry.ts';
import type { Place, Session } from './state.ts';

/** A member with one of these permissions is a manager, who receives all events about members. */
const managerBits =
  permissionBits['Manage Server'] | permissionBits['Manage Roles'] | permissionBits['Kick Members'] | permissionBits['Ban Members'];

/**
 * Whether a session receives an event about a member of a server. In a server of more than 1,000 members (`concernedOnly`), such an event goes only to sessions
 * of the member, of managers (Manage Server, Manage Roles, Kick Members or Ban Members) and of bots that asked for it, and to sessions that watch the account.
 * True for any other event.
 */
export function canReceiveMemberEvent(
  { rules, members }: Place,
  { member, concernedOnly }: EntryHead,
  { account, watchList }: Session,
): boolean {
  if (!concernedOnly || member === undefined || account.isBot || account.id === member || watchList?.accounts.has(member)) return true;
  const ownMember = members.get(account.id);
  return !!rules?.access && !!ownMember && (computePermissions(rules.access.server, ownMember) & managerBits) !== 0;
}
